#include "weft/base/intrusive_list.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

namespace weft {
namespace {

struct Item {
    explicit Item(int item_number) : number(item_number) {}

    int number;
    ListLink first_link;
    ListLink second_link;
};

using FirstList = IntrusiveList<Item, &Item::first_link>;
using SecondList = IntrusiveList<Item, &Item::second_link>;

static_assert(std::forward_iterator<FirstList::Iterator>);

template <class List>
std::vector<int> numbers(const List& list) {
    std::vector<int> result;
    for (Item& item : list) result.push_back(item.number);
    return result;
}

template <class List>
void drain(List& list) {
    while (list.pop_front() != nullptr) {}
}

class IntrusiveListTest : public testing::Test {
protected:
    ~IntrusiveListTest() override { drain(list); }

    Item one{1};
    Item two{2};
    Item three{3};
    FirstList list;
};

TEST_F(IntrusiveListTest, an_empty_list_gives_null) {
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.front(), nullptr);
    EXPECT_EQ(list.back(), nullptr);
    EXPECT_EQ(list.pop_front(), nullptr);
    EXPECT_EQ(list.begin(), list.end());
}

TEST_F(IntrusiveListTest, items_come_out_in_the_order_of_push_back) {
    list.push_back(one);
    list.push_back(two);
    list.push_back(three);
    EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
    EXPECT_EQ(list.pop_front(), &one);
    EXPECT_EQ(list.pop_front(), &two);
    EXPECT_EQ(list.pop_front(), &three);
    EXPECT_TRUE(list.empty());
}

TEST_F(IntrusiveListTest, push_front_goes_before_the_others) {
    list.push_front(two);
    list.push_front(one);
    list.push_back(three);
    EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
    EXPECT_EQ(list.front(), &one);
    EXPECT_EQ(list.back(), &three);
}

TEST_F(IntrusiveListTest, erase_works_at_every_place) {
    Item* items[] = {&one, &two, &three};
    for (Item* erased : items) {
        for (Item* item : items) list.push_back(*item);
        list.erase(*erased);
        EXPECT_FALSE(erased->first_link.is_linked());
        std::vector<int> expected;
        for (Item* item : items) {
            if (item != erased) expected.push_back(item->number);
        }
        EXPECT_EQ(numbers(list), expected);
        drain(list);
    }
}

TEST_F(IntrusiveListTest, erasing_the_only_item_empties_the_list) {
    list.push_back(one);
    EXPECT_TRUE(one.first_link.is_linked());
    list.erase(one);
    EXPECT_TRUE(list.empty());
    list.push_back(one);
    EXPECT_EQ(list.back(), &one);
}

TEST_F(IntrusiveListTest, an_item_with_two_links_is_in_two_lists) {
    SecondList other;
    list.push_back(one);
    list.push_back(two);
    other.push_back(two);
    other.push_back(one);
    EXPECT_EQ(numbers(list), (std::vector{1, 2}));
    EXPECT_EQ(numbers(other), (std::vector{2, 1}));
    drain(other);
}

TEST_F(IntrusiveListTest, splice_moves_all_items_behind_the_own_ones) {
    FirstList other;
    list.splice_back(other);
    EXPECT_TRUE(list.empty());
    other.push_back(one);
    list.splice_back(other);
    EXPECT_TRUE(other.empty());
    other.push_back(two);
    other.push_back(three);
    list.splice_back(other);
    EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
    list.erase(two);
    EXPECT_EQ(numbers(list), (std::vector{1, 3}));
}

TEST_F(IntrusiveListTest, a_moved_list_takes_the_items_along) {
    list.push_back(one);
    list.push_back(two);
    FirstList moved(std::move(list));
    EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move): a moved list is empty
    EXPECT_EQ(numbers(moved), (std::vector{1, 2}));
    drain(moved);
}

TEST_F(IntrusiveListTest, next_walks_while_items_are_erased) {
    for (Item* item : {&one, &two, &three}) list.push_back(*item);
    for (Item* item = list.front(); item != nullptr;) {
        Item* following = FirstList::next(*item);
        if (item->number != 2) list.erase(*item);
        item = following;
    }
    EXPECT_EQ(numbers(list), (std::vector{2}));
}

#ifndef NDEBUG
using IntrusiveListDeathTest = IntrusiveListTest;

TEST_F(IntrusiveListDeathTest, pushing_an_item_twice_aborts) {
    list.push_back(one);
    EXPECT_DEATH(list.push_back(one), "one list only");
    EXPECT_DEATH(list.push_front(one), "one list only");
}

TEST_F(IntrusiveListDeathTest, erasing_an_item_that_is_in_no_list_aborts) {
    EXPECT_DEATH(list.erase(one), "in no list");
}

TEST_F(IntrusiveListDeathTest, an_item_that_ends_while_listed_aborts) {
    EXPECT_DEATH(
        {
            Item local(9);
            list.push_back(local);
        },
        "still holds");
}

TEST_F(IntrusiveListDeathTest, a_list_that_ends_with_items_aborts) {
    EXPECT_DEATH(
        {
            FirstList local;
            local.push_back(one);
        },
        "drained");
}
#endif

}  // namespace
}  // namespace weft
