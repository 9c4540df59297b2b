// The rows of `make bench-data` in C++:  weft-bench-data METRIC COUNT
// The server of PostgreSQL is found by PGHOST and the like, the file of SQLite by
// WEFT_BENCH_SQLITE.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/measure.h"
#include "weft/data/database.h"
#include "weft/data/json.h"
#include "weft/data/postgres/postgres.h"
#include "weft/data/sqlite/sqlite.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace {

using namespace weft;
using namespace weft::data;

constexpr int kWorld = 10'000;
constexpr std::int64_t kPage = 10'000;
constexpr std::size_t kTable = 1'000'000;
constexpr std::size_t kBatch = 20;
constexpr std::size_t kInsertBatch = 4096;
std::size_t sink = 0;

std::int64_t any_id() { return 1 + std::rand() % kWorld; }

Result<Database> open(std::size_t connections) {
    DatabaseOptions options;
    options.pool.connections_max = connections;
    return open_postgres({.connection_string = ""}, options);
}

Result<Database> open_file() { return open_sqlite({.path = std::getenv("WEFT_BENCH_SQLITE")}); }

template <class Call>
Result<void> drive(std::size_t callers, std::size_t calls, Call call) {
    std::vector<Future<void>> all;
    std::size_t left = calls;
    for (std::size_t caller = 0; caller < callers; ++caller) {
        all.push_back(spawn([&]() -> Result<void> {
            while (left > 0) {
                --left;
                WEFT_TRY(call());
            }
            return {};
        }));
    }
    for (auto& one : all) WEFT_TRY(one.join());
    return {};
}

// Microseconds for each of the calls of so many callers.
template <class Call>
Result<double> timed(std::size_t callers, std::size_t calls, Call call) {
    WEFT_TRY(drive(callers, (calls + 9) / 10, call));
    bench::Stopwatch watch;
    WEFT_TRY(drive(callers, calls, call));
    return watch.nanoseconds() / 1000 / static_cast<double>(calls);
}

Error wrong() { return {ErrorKind::Other, "other rows than asked for"}; }

Statement select_one() { return sql("select id, randomnumber from world where id = {}", any_id()); }

Result<double> pg_select(std::size_t count) {
    Database db = WEFT_TRY(open(4));
    return timed(64, count, [&]() -> Result<void> {
        std::optional<Rows> rows = WEFT_TRY(db.query_one(select_one()));
        if (!rows) return wrong();
        sink += static_cast<std::size_t>((*rows)[0][1].integer());
        return {};
    });
}

Result<double> pg_batch(std::size_t count) {
    Database db = WEFT_TRY(open(4));
    return timed(16, count, [&]() -> Result<void> {
        std::vector<Statement> statements;
        for (std::size_t at = 0; at < kBatch; ++at) statements.push_back(select_one());
        std::vector<Outcome> outcomes = WEFT_TRY(db.batch(statements));
        for (const Outcome& outcome : outcomes) {
            if (outcome.rows.size() != 1) return wrong();
        }
        return {};
    });
}

Result<double> pg_transaction(std::size_t count) {
    Database db = WEFT_TRY(open(16));
    return timed(16, count, [&]() -> Result<void> {
        std::int64_t id = any_id();
        std::vector<Statement> statements = {
            sql("select randomnumber from world where id = {}", id),
            sql("update world set randomnumber = {} where id = {}", any_id(), id),
            sql("insert into ins(a, b) values ({}, {})", id, "x")};
        WEFT_TRY(db.batch(statements));
        return {};
    });
}

void touch(Row row) {
    sink += static_cast<std::size_t>(row[0].integer()) +
            static_cast<std::size_t>(row[1].integer()) + row[2].text().size() +
            row[3].text().size();
}

Result<double> pg_rows(std::size_t count) {
    Database db = WEFT_TRY(open(1));
    QueryOptions options;
    options.rows_max = static_cast<std::uint32_t>(kPage);
    double each = WEFT_TRY(timed(1, count, [&]() -> Result<void> {
        Rows rows = WEFT_TRY(
            db.query(sql("select id, n, name, ts from big where id <= {}", kPage), options));
        if (rows.size() != static_cast<std::size_t>(kPage)) return wrong();
        for (Row row : rows) touch(row);
        return {};
    }));
    return each * 1000 / static_cast<double>(kPage);
}

// Reads all rows of a cursor with this function. Nanoseconds a row.
template <class Take>
Result<double> read_all(Database& db, std::string_view text, Take take) {
    CursorOptions options;
    options.batch_rows = 1024;
    bench::Stopwatch watch;
    Cursor cursor = WEFT_TRY(db.query_cursor(Statement(std::string(text)), options));
    std::size_t count = 0;
    for (;;) {
        Rows rows = WEFT_TRY(cursor.next());
        if (rows.empty()) break;
        for (Row row : rows) take(row);
        count += rows.size();
    }
    if (count != kTable) return wrong();
    return watch.nanoseconds_each(count);
}

Result<double> pg_stream() {
    Database db = WEFT_TRY(open(1));
    return read_all(db, "select id, n, name, ts from big", touch);
}

Result<double> pg_ndjson() {
    Database db = WEFT_TRY(open(1));
    std::string line;
    return read_all(db, "select id, n, name, ts from big", [&](Row row) {
        line.clear();
        append_json(line, row);
        sink += line.size();
    });
}

Result<double> cancel(std::size_t count) {
    Database db = WEFT_TRY(open(2));
    std::vector<double> took;
    for (std::size_t turn = 0; turn < count; ++turn) {
        CancelSource source;
        auto slept = spawn([&] {
            QueryOptions options;
            options.token = source.token();
            return db.query("select pg_sleep(5)", options);
        });
        WEFT_TRY(sleep_for(std::chrono::milliseconds(50)));
        bench::Stopwatch watch;
        source.cancel();
        static_cast<void>(slept.join());
        took.push_back(watch.milliseconds());
    }
    std::ranges::sort(took);
    return took[took.size() / 2];
}

Result<double> sqlite_select(std::size_t count) {
    Database db = WEFT_TRY(open_file());
    return timed(64, count, [&]() -> Result<void> {
        std::optional<Rows> rows = WEFT_TRY(
            db.query_one(sql("select id, n, name, r from big where id = {}", any_id() * 10)));
        if (!rows) return wrong();
        sink += (*rows)[0][2].text().size();
        return {};
    });
}

Result<double> sqlite_scan() {
    Database db = WEFT_TRY(open_file());
    return read_all(db, "select id, n, name, r from big", [](Row row) {
        sink += static_cast<std::size_t>(row[0].integer() + row[1].integer()) +
                row[2].text().size() + static_cast<std::size_t>(row[3].real());
    });
}

Result<double> sqlite_insert(std::size_t count) {
    Database db = WEFT_TRY(open_file());
    bench::Stopwatch watch;
    WEFT_TRY(db.transaction([&](Transaction& tx) -> Result<void> {
        // It does not outlive the transaction.
        WEFT_TRY(tx.exec("create temp table made(id integer primary key, n, name, r)"));
        for (std::size_t at = 0; at < count; at += kInsertBatch) {
            std::vector<Statement> statements;
            for (std::size_t id = at; id < std::min(at + kInsertBatch, count); ++id) {
                auto number = static_cast<std::int64_t>(id);
                statements.push_back(sql("insert into made values ({}, {}, {}, {})", number,
                                         number * 7, "row name number " + std::to_string(id),
                                         static_cast<double>(id) / 2));
            }
            WEFT_TRY(tx.batch(statements));
        }
        return {};
    }));
    return watch.nanoseconds_each(count);
}

struct Kind {
    std::string_view metric;
    const char* unit;
    Result<double> (*run)(std::size_t count);
};

constexpr Kind kKinds[] = {
    {"pg_select", "us/query", pg_select},
    {"pg_batch20", "us/batch", pg_batch},
    {"pg_tx3", "us/tx", pg_transaction},
    {"pg_rows10k", "ns/row", pg_rows},
    {"pg_stream1m", "ns/row", [](std::size_t) { return pg_stream(); }},
    {"cursor_ndjson", "ns/row", [](std::size_t) { return pg_ndjson(); }},
    {"cancel_ms", "ms", cancel},
    {"sqlite_select", "us/query", sqlite_select},
    {"sqlite_scan", "ns/row", [](std::size_t) { return sqlite_scan(); }},
    {"sqlite_insert", "ns/row", sqlite_insert},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    auto kind = std::ranges::find(kKinds, std::string_view(argv[1]), &Kind::metric);
    if (kind == std::end(kKinds)) return 2;
    Result<double> value = weft::run(
        [&]() -> Result<double> { return kind->run(std::strtoul(argv[2], nullptr, 10)); });
    if (!value) {
        std::fprintf(stderr, "%s\n", value.error().message().c_str());
        return 1;
    }
    bench::Reporter("weft", 1).report(kind->metric, *value, kind->unit);
    return sink == 42 ? 1 : 0;
}
