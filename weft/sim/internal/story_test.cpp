#include "weft/sim/internal/story.h"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

// Which frame is taken for the program's, behind some that are Weft's.
std::string place_above_weft(const std::string& frame) {
    return place_in_program(std::vector<std::string>{
        "weft::Mutex::lock() (weft/sync/mutex.h:38)",
        "std::lock_guard<weft::Mutex>::lock_guard(weft::Mutex&) "
        "(/usr/include/c++/12/bits/std_mutex.h:229)",
        frame, "weft::Runtime::spawn() (/opt/include/weft/fiber/runtime.h:9)",
        "weft::fiber_main(void*) (weft/fiber/fiber.cpp:100)"});
}

TEST(Story, SIM_4d_frames_of_the_library_are_passed_over) {
    EXPECT_EQ(place_above_weft("std::invoke<f>() (/usr/include/c++/12/functional:9)"), "");
    EXPECT_EQ(place_above_weft("weft_spawn (weft/c/weft.cpp:7)"), "");
    EXPECT_EQ(place_above_weft("? (weft/fiber/switch/context.cpp:7)"), "");
    EXPECT_EQ(place_above_weft("shop::sell() (shop.cpp:7)"), "shop::sell() (shop.cpp:7)");
}

TEST(Story, SIM_4d_a_program_in_a_folder_of_the_librarys_name_is_shown) {
    for (const char* frame :
         {"shop::sell() (weft/shop.cpp:7)", "shop::sell() (/home/me/weft/shop.cpp:7)",
          "shop::sell() (/home/me/weft/src/shop.cpp:7)", "shop::sell() (weft/http/shop.h:7)",
          "main::{lambda(weft::http::Request&)#1}::operator()() const "
          "(/home/me/weft/shop.cpp:7)",
          "weft::Result<int> shop::sell<int>() (/home/me/weft/src/shop.cpp:7)",
          "shop::sell(weft::Mutex&) (weft/net/shop.cpp:7)"}) {
        EXPECT_EQ(place_above_weft(frame), frame);
    }
}

// As -g1 and -gline-tables-only name what was inlined.
TEST(Story, SIM_4d_names_without_a_namespace_are_told_apart_by_their_files) {
    EXPECT_EQ(place_above_weft("may_wait (weft/fiber/turn.h:69) inlined in "
                               "go<main()::<lambda()> > (/opt/include/weft/async/group.h:40) "
                               "inlined in sell (weft/shop.cpp:7)"),
              "sell (weft/shop.cpp:7)");
    EXPECT_EQ(place_above_weft("operator() (weft/fiber/schedule/worker.cpp:69) inlined in "
                               "weft::Worker::loop() (weft/fiber/schedule/worker.cpp:40)"),
              "");
}

TEST(Story, SIM_4d_an_inlined_function_of_the_program_is_shown) {
    EXPECT_EQ(place_above_weft("weft::Mutex::lock() (weft/sync/mutex.h:38) inlined in "
                               "shop::sell() (/home/me/weft/shop.cpp:7) inlined in "
                               "main (/home/me/weft/shop.cpp:9)"),
              "shop::sell() (/home/me/weft/shop.cpp:7)");
}

}  // namespace
}  // namespace weft::sim
