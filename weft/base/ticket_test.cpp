#include "weft/base/ticket.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

TEST(Ticket, it_travels_as_one_word) {
    Ticket ticket{7, 9};
    EXPECT_EQ(ticket.as_u64(), 0x0000'0009'0000'0007u);
    EXPECT_EQ(Ticket::from_u64(ticket.as_u64()), ticket);
    EXPECT_TRUE(Ticket().is_none());
    EXPECT_FALSE(ticket.is_none());
}

TEST(TicketTable, an_item_is_found_until_it_is_taken) {
    TicketTable<std::string> table(4);
    Ticket ticket = *table.insert("rows");
    ASSERT_NE(table.find(ticket), nullptr);
    EXPECT_EQ(*table.find(ticket), "rows");
    EXPECT_EQ(table.take(ticket), "rows");
    EXPECT_EQ(table.find(ticket), nullptr);
    EXPECT_EQ(table.take(ticket), std::nullopt);
}

TEST(TicketTable, a_stale_ticket_does_not_find_the_next_item_of_its_slot) {
    TicketTable<int> table(4);
    Ticket first = *table.insert(1);
    table.take(first);
    Ticket second = *table.insert(2);
    EXPECT_EQ(second.index, first.index);
    EXPECT_EQ(table.find(first), nullptr);
    EXPECT_EQ(table.take(first), std::nullopt);
    EXPECT_EQ(*table.find(second), 2);
}

TEST(TicketTable, tickets_of_no_table_find_nothing) {
    TicketTable<int> table(4);
    EXPECT_EQ(table.find(Ticket()), nullptr);
    ASSERT_TRUE(table.insert(1).has_value());
    EXPECT_EQ(table.find(Ticket()), nullptr);
    EXPECT_EQ(table.find(Ticket{1, 0}), nullptr);
    EXPECT_EQ(table.find(Ticket{0, 2}), nullptr);
    EXPECT_EQ(table.find(Ticket{4'000'000'000u, 1}), nullptr);
}

TEST(TicketTable, NET_3b_a_full_table_refuses_until_something_is_taken) {
    TicketTable<int> table(2);
    Ticket first = *table.insert(1);
    ASSERT_TRUE(table.insert(2).has_value());
    Error full = table.insert(3).error();
    EXPECT_EQ(full.kind(), ErrorKind::Limit);
    EXPECT_EQ(full.message(), "there are more items than 2 (TicketTable::capacity())");
    EXPECT_EQ(table.size(), 2u);
    table.take(first);
    EXPECT_TRUE(table.insert(3).has_value());
    EXPECT_EQ(TicketTable<int>(0).insert(1).error().kind(), ErrorKind::Limit);
}

TEST(TicketTable, pointers_stay_good_while_the_table_grows) {
    TicketTable<int> table(1000);
    Ticket ticket = *table.insert(-1);
    int* item = table.find(ticket);
    for (int i = 0; i < 900; ++i) ASSERT_TRUE(table.insert(i).has_value());
    EXPECT_EQ(table.find(ticket), item);
    EXPECT_EQ(*item, -1);
}

TEST(TicketTable, it_holds_move_only_items_and_drops_what_is_left) {
    auto witness = std::make_shared<int>(1);
    {
        TicketTable<std::unique_ptr<std::shared_ptr<int>>> table(4);
        auto make = [&] { return std::make_unique<std::shared_ptr<int>>(witness); };
        Ticket taken = *table.insert(make());
        ASSERT_TRUE(table.insert(make()).has_value());
        EXPECT_EQ(witness.use_count(), 3);
        table.take(taken);
        EXPECT_EQ(witness.use_count(), 2);
    }
    EXPECT_EQ(witness.use_count(), 1);
}

TEST(TicketTable, a_slot_retires_when_its_generations_are_used_up) {
    TicketTable<int, 3> table(1);
    std::vector<Ticket> seen;
    for (int i = 0; i < 10; ++i) {
        Ticket ticket = *table.insert(i);
        for (Ticket earlier : seen) EXPECT_NE(ticket, earlier);
        seen.push_back(ticket);
        EXPECT_EQ(table.take(ticket), i);
    }
    EXPECT_EQ(seen.back().index, 3u);
    EXPECT_EQ(table.size(), 0u);
}

TEST(TicketTable, for_each_visits_every_item_once) {
    TicketTable<int> table(200);
    std::map<std::uint64_t, int> expected;
    for (int i = 0; i < 150; ++i) {
        Ticket ticket = *table.insert(i);
        if (i % 3 == 0) {
            table.take(ticket);
        } else {
            expected[ticket.as_u64()] = i;
        }
    }
    std::map<std::uint64_t, int> visited;
    table.for_each([&](Ticket ticket, int& item) {
        EXPECT_TRUE(visited.emplace(ticket.as_u64(), item).second);
    });
    EXPECT_EQ(visited, expected);
    EXPECT_EQ(table.size(), expected.size());
}

}  // namespace
}  // namespace weft
