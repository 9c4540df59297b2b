// Tests of PostgreSQL's texts and formats, which need no server.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "weft/data/failure.h"
#include "weft/data/postgres/internal/calendar.h"
#include "weft/data/postgres/internal/dsn.h"
#include "weft/data/postgres/internal/statement_cache.h"
#include "weft/data/postgres/internal/types.h"
#include "weft/data/postgres/internal/words.h"

namespace weft::data::postgres {
namespace {

TEST(PostgresCalendar, DAT_6_days_and_times_have_their_text) {
    EXPECT_EQ(date_text(0), "2000-01-01");
    EXPECT_EQ(date_text(59), "2000-02-29");
    EXPECT_EQ(date_text(-730'119), "0001-01-01");
    EXPECT_EQ(date_text(-730'120), "0001-12-31 BC");
    EXPECT_EQ(timestamp_text(-1, "Z"), "1999-12-31T23:59:59.999999Z");
    EXPECT_EQ(time_text(kMicrosecondsPerDay), "24:00:00");
}

TEST(PostgresCalendar, DAT_6_instants_are_read_in_any_zone) {
    EXPECT_EQ(parse_instant("2000-01-01 02:00:00+02"), 0);
    EXPECT_EQ(parse_instant("1999-12-31 20:29:59.5-03:30"), -500'000);
    EXPECT_EQ(parse_instant("2000-01-01 00:19:32+00:19:32"), 0);
    EXPECT_EQ(parse_instant("294276-12-31 23:59:59.999999+00"), 9'223'371'331'199'999'999);
    EXPECT_EQ(parse_instant("294276-12-31 23:59:59.999999-15:59:59"), 9'223'371'388'798'999'999);
    for (const char* foreign : {"", "infinity", "01/01/2000 00:00:00 UTC", "2000-01-01 00:00:00",
                                "2000-01-01 00:00:00+02x", "0044-03-15 00:00:00+00 BC",
                                "9223372036854775807-01-01 00:00:00+00", "294277-01-01 00:00:00+00",
                                "2000-13-01 00:00:00+00", "2000-00-01 00:00:00+00",
                                "2000-01-32 00:00:00+00", "2000-01-01 99:00:00+00"})
        EXPECT_FALSE(parse_instant(foreign)) << foreign;
}

TEST(PostgresTypeForms, DAT_6_malformed_values_are_errors) {
    const std::pair<Oid, std::string> binary[] = {
        {oid::kInt4, "abc"},     {oid::kNumeric, "x"}, {oid::kNumeric, "\x01\x01 too short"},
        {oid::kJsonb, "\x02{}"}, {1007, "short"},      {1007, std::string("\0\0\0\x07", 4)},
        {oid::kUuid, "1"}};
    for (const auto& [type, bytes] : binary)
        EXPECT_FALSE(decode(type, kBinaryFormat, bytes)) << type;
    const std::pair<Oid, std::string> text[] = {
        {oid::kInt4, "1x"}, {oid::kFloat8, ""}, {oid::kBytea, "\\x1"}, {oid::kBytea, "\\xzz"},
        {1009, "{a"},       {1009, "{\"a"},     {1009, "a}"},          {1009, "{a}b"}};
    for (const auto& [type, bytes] : text)
        EXPECT_FALSE(decode(type, kTextFormat, bytes)) << type << " " << bytes;
    Result<Value> latin = decode(oid::kText, kBinaryFormat, "\xe4");
    EXPECT_EQ(sqlstate_of(latin.error()), "22021");
}

// Big-endian, as in the protocol.
std::string words(std::initializer_list<std::uint32_t> numbers) {
    std::string bytes;
    for (std::uint32_t number : numbers) {
        for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift));
    }
    return bytes;
}

TEST(PostgresTypeForms, DAT_6_an_array_has_no_more_elements_than_its_bytes_can_hold) {
    constexpr Oid kInt4Array = 1007;
    // Elements that fit, each of four bytes: {{1,2}}.
    Result<Value> whole =
        decode(kInt4Array, kBinaryFormat, words({2, 0, oid::kInt4, 1, 1, 2, 1, 4, 1, 4, 2}));
    ASSERT_TRUE(whole);
    EXPECT_EQ(*whole, Value::array({Value::array({Value(1), Value(2)})}));
    // Without a bound this would take 50^5 turns for a message of a hundred bytes.
    std::string few = words({6, 0, oid::kInt4, 50, 1, 50, 1, 50, 1, 50, 1, 50, 1, 0, 1});
    EXPECT_FALSE(decode(kInt4Array, kBinaryFormat, few + std::string(50, '\0')));
    EXPECT_FALSE(
        decode(kInt4Array, kBinaryFormat, words({2, 0, oid::kInt4, 0x4000'0000, 1, 0, 1})));
    // An array of arrays could be nested without end.
    EXPECT_FALSE(decode(kInt4Array, kBinaryFormat, words({1, 0, kInt4Array, 1, 1, 4, 0})));
}

TEST(PostgresWords, DAT_3_statements_that_change_a_session_are_seen) {
    for (const char* text :
         {"set x = 1", "LISTEN a", "select set_config('a', 'b', false)",
          "select pg_advisory_lock(1)", "create temp table t ()", "-- x\nset a = 1",
          "do $$ begin end $$", "select 1; set a = 1", "insert into t values (';'); set role y",
          "select 1; listen z", "select \"set_config\"('a', 'b', false)", "select 1 into temp t",
          "select * into pg_temp.t from u", "select E'\\''; set a = '1'"})
        EXPECT_TRUE(may_change_session(text)) << text;
    for (const char* text :
         {"select 1", "  (select 1)", "/* x */ insert into t values (1)",
          "with a as (select 1) select * from a", "select pg_advisory_xact_lock(1)",
          "select temp, temperature, attempts from template", "insert into temp values (1)",
          "select 'set_config; set a = 1'", "select 1; update t set a = 1;",
          "select $$; set a = 1$$ -- ; set b"})
        EXPECT_FALSE(may_change_session(text)) << text;
}

TEST(PostgresWords, DAT_7_statements_that_do_more_than_give_rows_are_seen) {
    for (const char* text :
         {"insert into t values (1) returning i", "with a as (delete from t returning i) table a",
          "select i from t for update skip locked", "select i from t for key share",
          "select i into u from t", "select pg_notify('a', i) from t", "fetch all from c",
          "select pg_advisory_xact_lock(i) from t", "select 1; select 2",
          "explain analyze table t"})
        EXPECT_TRUE(may_have_effects(text)) << text;
    for (const char* text :
         {"select 1", "(select 1) union select 2;", "values (1), (2)", "table t",
          "with recursive a as (select 1) select * from a", "select 'insert', \"update\" from t"})
        EXPECT_FALSE(may_have_effects(text)) << text;
}

TEST(PostgresWords, DAT_3_several_commands_are_seen) {
    EXPECT_FALSE(has_several_commands("select 1"));
    EXPECT_FALSE(has_several_commands("select 1 ; \n;"));
    EXPECT_FALSE(has_several_commands("select string_agg(name, '; ') from t -- ; x"));
    EXPECT_TRUE(has_several_commands("select 1; select 2"));
    EXPECT_TRUE(has_several_commands("select 'a''; x'; 'y'"));
}

TEST(PostgresDsn, DAT_3_connection_strings_are_taken_apart) {
    Dsn dsn = Dsn::parse(
                  "postgres://u:p@h1:1,h2:2/d?target_session_attrs=any&connect_timeout=3"
                  "&sslmode=verify-full")
                  .value();
    ASSERT_EQ(dsn.hosts.size(), 2u);
    EXPECT_EQ(dsn.hosts[1].host, "h2");
    EXPECT_EQ(dsn.hosts[1].port, "2");
    EXPECT_EQ(dsn.session_attributes, "any");
    EXPECT_EQ(dsn.connect_timeout, std::chrono::seconds(3));
    EXPECT_EQ(dsn.tls_mode, TlsMode::VerifyFull);
    EXPECT_EQ(*dsn.find("gssencmode"), "disable");
    EXPECT_TRUE(Dsn::parse("host=/run/x").value().hosts[0].is_unix());
    for (const char* refused :
         {"host=a,b port=1,2,3", "service=x", "gssencmode=require", "sslmode=canary", "canary",
          "postgres://u:canary@[h/x", "host=h password='canary"}) {
        Result<Dsn> parsed = Dsn::parse(refused);
        ASSERT_FALSE(parsed) << refused;
        EXPECT_EQ(parsed.error().message().find("canary"), std::string::npos) << refused;
    }
}

TEST(PostgresStatementCache, DAT_3_the_least_recently_used_statement_goes) {
    StatementCache cache("p", 2);
    for (std::string key : {"a", "b"}) cache.add(key, {.name = cache.next_name()});
    EXPECT_NE(cache.find("a"), nullptr);
    EXPECT_EQ(cache.evict(), "p2");
    EXPECT_EQ(cache.find("b"), nullptr);
    EXPECT_EQ(cache.evict(), "");
    cache.drop("a");
    EXPECT_EQ(cache.size(), 0u);
    // The type of a value is part of the key, and for an array the type of its items.
    EXPECT_NE(cache_key("x", {Value(1)}), cache_key("x", {Value("1")}));
    EXPECT_NE(cache_key("x", {Value::array({Value(1)})}),
              cache_key("x", {Value::array({Value("1")})}));
}

}  // namespace
}  // namespace weft::data::postgres
