// SQLite by its C interface, on the thread that asks: what a provider cannot beat.
//     sqlite METRIC COUNT         the file is that of WEFT_BENCH_SQLITE
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/common/measure.h"

namespace {

constexpr int kWorld = 10'000;
constexpr int kTable = 1'000'000;
long sink = 0;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

sqlite3_stmt* prepare(sqlite3* db, const char* text) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, text, -1, &statement, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(db));
    return statement;
}

void read(sqlite3_stmt* statement) {
    sink += sqlite3_column_int64(statement, 0) + sqlite3_column_int64(statement, 1) +
            *sqlite3_column_text(statement, 2) +
            static_cast<long>(sqlite3_column_double(statement, 3));
}

double select(sqlite3* db, long count) {
    sqlite3_stmt* get = prepare(db, "select id, n, name, r from big where id = ?");
    bench::Stopwatch watch;
    for (long turn = 0; turn < count; ++turn) {
        sqlite3_bind_int64(get, 1, (1 + std::rand() % kWorld) * 10);
        if (sqlite3_step(get) != SQLITE_ROW) fail("no row");
        read(get);
        sqlite3_reset(get);
    }
    return watch.nanoseconds() / 1000 / static_cast<double>(count);
}

double scan(sqlite3* db) {
    sqlite3_stmt* all = prepare(db, "select id, n, name, r from big");
    bench::Stopwatch watch;
    long rows = 0;
    for (; sqlite3_step(all) == SQLITE_ROW; ++rows) read(all);
    if (rows != kTable) fail("other rows");
    return watch.nanoseconds() / static_cast<double>(rows);
}

double insert(sqlite3* db, long count) {
    sqlite3_exec(db, "create temp table made(id integer primary key, n, name, r)", nullptr, nullptr,
                 nullptr);
    sqlite3_stmt* one = prepare(db, "insert into made values (?, ?, ?, ?)");
    bench::Stopwatch watch;
    sqlite3_exec(db, "begin", nullptr, nullptr, nullptr);
    for (long id = 0; id < count; ++id) {
        std::string name = "row name number " + std::to_string(id);
        sqlite3_bind_int64(one, 1, id);
        sqlite3_bind_int64(one, 2, id * 7);
        sqlite3_bind_text(one, 3, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
        sqlite3_bind_double(one, 4, static_cast<double>(id) / 2);
        if (sqlite3_step(one) != SQLITE_DONE) fail(sqlite3_errmsg(db));
        sqlite3_reset(one);
    }
    sqlite3_exec(db, "commit", nullptr, nullptr, nullptr);
    return watch.nanoseconds() / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) fail("usage: sqlite METRIC COUNT");
    std::string_view metric = argv[1];
    long count = std::atol(argv[2]);
    sqlite3* db = nullptr;
    if (sqlite3_open(std::getenv("WEFT_BENCH_SQLITE"), &db) != SQLITE_OK) fail(sqlite3_errmsg(db));
    auto report = [&](double value, const char* unit) {
        std::printf("c %s %.4f %s\n", argv[1], value, unit);
    };
    if (metric == "sqlite_select") {
        report(select(db, count), "us/query");
    } else if (metric == "sqlite_scan") {
        report(scan(db), "ns/row");
    } else if (metric == "sqlite_insert") {
        report(insert(db, count), "ns/row");
    } else {
        fail("no such metric");
    }
    return sink == 42 ? 1 : 0;
}
