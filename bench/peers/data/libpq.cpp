// libpq in its pipeline mode over epoll, without anything around it: what a provider cannot beat.
//     libpq METRIC COUNT         finds the server by PGHOST and the like
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/measure.h"

namespace {

constexpr int kConnections = 4;
constexpr int kTransactionConnections = 16;
constexpr int kCallers = 64;
constexpr int kBatchCallers = 16;
constexpr int kBatch = 20;
constexpr int kWorld = 10'000;
constexpr int kPage = 10'000;
constexpr int kTable = 1'000'000;
unsigned long sink = 0;

[[noreturn]] void fail(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}

PGconn* connect() {
    PGconn* pg = PQconnectdb("");
    if (PQstatus(pg) != CONNECTION_OK) fail("connect", PQerrorMessage(pg));
    return pg;
}

void prepare(PGconn* pg, const char* name, const char* text) {
    PGresult* result = PQprepare(pg, name, text, 0, nullptr);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(name, PQresultErrorMessage(result));
    PQclear(result);
}

void send(PGconn* pg, const char* name, int count, const int* numbers) {
    int swapped[2];
    const char* values[2];
    const int lengths[2] = {4, 4};
    const int formats[2] = {1, 1};
    for (int at = 0; at < count; ++at) {
        swapped[at] = static_cast<int>(htonl(static_cast<unsigned>(numbers[at])));
        values[at] = reinterpret_cast<const char*>(&swapped[at]);
    }
    if (PQsendQueryPrepared(pg, name, count, values, lengths, formats, 1) == 0)
        fail("send", PQerrorMessage(pg));
}

int any_id() { return 1 + std::rand() % kWorld; }

void send_selects(PGconn* pg, int count) {
    for (int at = 0; at < count; ++at) {
        int id = any_id();
        send(pg, "w", 1, &id);
    }
    PQpipelineSync(pg);
}

void send_transaction(PGconn* pg) {
    int ids[2] = {any_id(), any_id()};
    send(pg, "b", 0, nullptr);
    send(pg, "t1", 1, ids);
    send(pg, "t2", 2, ids);
    send(pg, "t3", 1, ids);
    send(pg, "c", 0, nullptr);
    PQpipelineSync(pg);
}

void prepare_all(PGconn* pg) {
    prepare(pg, "w", "select id, randomnumber from world where id = $1::int");
    prepare(pg, "b", "begin");
    prepare(pg, "t1", "select randomnumber from world where id = $1::int");
    prepare(pg, "t2", "update world set randomnumber = $2::int where id = $1::int");
    prepare(pg, "t3", "insert into ins(a, b) values ($1::int, 'x')");
    prepare(pg, "c", "commit");
}

// Takes in what has come; the number of syncs in it, of those that are to come.
int receive(PGconn* pg, int waiting) {
    int syncs = 0;
    if (PQconsumeInput(pg) == 0) fail("receive", PQerrorMessage(pg));
    while (syncs < waiting && PQisBusy(pg) == 0) {
        PGresult* result = PQgetResult(pg);
        if (result == nullptr) continue;  // the end of a statement
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK) {
            if (PQntuples(result) != 1) fail("receive", "no row");
            sink += static_cast<unsigned char>(PQgetvalue(result, 0, 0)[3]);
        } else if (status == PGRES_PIPELINE_SYNC) {
            ++syncs;
        } else if (status != PGRES_COMMAND_OK) {
            fail("receive", PQresultErrorMessage(result));
        }
        PQclear(result);
    }
    return syncs;
}

// Microseconds for each of `count` requests, so many at a time over so many connections.
template <class Send>
double drive(int connections, int callers, long count, Send send_one) {
    int epoll = epoll_create1(0);
    std::vector<PGconn*> all;
    std::vector<int> waiting(static_cast<std::size_t>(connections), 0);
    for (int at = 0; at < connections; ++at) {
        PGconn* pg = connect();
        prepare_all(pg);
        PQsetnonblocking(pg, 1);
        PQenterPipelineMode(pg);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = static_cast<unsigned>(at);
        epoll_ctl(epoll, EPOLL_CTL_ADD, PQsocket(pg), &event);
        all.push_back(pg);
    }
    bench::Stopwatch watch;
    long sent = 0;
    long done = 0;
    auto issue = [&](int at, int number) {
        for (; number > 0 && sent < count; --number, ++sent, ++waiting[at]) send_one(all[at]);
        PQflush(all[at]);
    };
    for (int at = 0; at < connections; ++at) issue(at, std::max(callers / connections, 1));
    epoll_event events[64];
    while (done < count) {
        int ready = epoll_wait(epoll, events, 64, 1000);
        for (int i = 0; i < ready; ++i) {
            int at = static_cast<int>(events[i].data.u32);
            int syncs = receive(all[at], waiting[at]);
            waiting[at] -= syncs;
            done += syncs;
            issue(at, syncs);
        }
    }
    double each = watch.nanoseconds() / 1000 / static_cast<double>(count);
    for (PGconn* pg : all) PQfinish(pg);
    close(epoll);
    return each;
}

double rows10k(long count) {
    PGconn* pg = connect();
    prepare(pg, "r", "select id, n, name, ts from big where id <= 10000");
    bench::Stopwatch watch;
    for (long turn = 0; turn < count; ++turn) {
        PGresult* result = PQexecPrepared(pg, "r", 0, nullptr, nullptr, nullptr, 1);
        if (PQntuples(result) != kPage) fail("rows10k", PQresultErrorMessage(result));
        for (int row = 0; row < kPage; ++row) {
            for (int column = 0; column < 4; ++column)
                sink += static_cast<unsigned long>(PQgetlength(result, row, column));
        }
        PQclear(result);
    }
    return watch.nanoseconds() / static_cast<double>(count) / kPage;
}

double stream1m() {
    PGconn* pg = connect();
    bench::Stopwatch watch;
    PQsendQueryParams(pg, "select id, n, name, ts from big", 0, nullptr, nullptr, nullptr, nullptr,
                      1);
    PQsetSingleRowMode(pg);
    long rows = 0;
    while (PGresult* result = PQgetResult(pg)) {
        for (int row = 0; row < PQntuples(result); ++row, ++rows)
            sink += static_cast<unsigned long>(PQgetlength(result, row, 2));
        PQclear(result);
    }
    if (rows != kTable) fail("stream1m", "other rows");
    return watch.nanoseconds() / static_cast<double>(rows);
}

double cancel(long count) {
    PGconn* pg = connect();
    std::vector<double> took;
    for (long turn = 0; turn < count; ++turn) {
        PQsendQuery(pg, "select pg_sleep(5)");
        usleep(50'000);
        bench::Stopwatch watch;
        PGcancel* key = PQgetCancel(pg);
        char why[256];
        PQcancel(key, why, sizeof(why));
        PQfreeCancel(key);
        while (PGresult* result = PQgetResult(pg)) PQclear(result);
        took.push_back(watch.milliseconds());
    }
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) fail("usage", "libpq METRIC COUNT");
    std::string_view metric = argv[1];
    long count = std::atol(argv[2]);
    auto report = [&](double value, const char* unit) {
        std::printf("libpq %s %.4f %s\n", argv[1], value, unit);
    };
    if (metric == "pg_select") {
        report(drive(kConnections, kCallers, count, [](PGconn* pg) { send_selects(pg, 1); }),
               "us/query");
    } else if (metric == "pg_batch20") {
        report(drive(kConnections, kBatchCallers, count,
                     [](PGconn* pg) { send_selects(pg, kBatch); }),
               "us/batch");
    } else if (metric == "pg_tx3") {
        report(drive(kTransactionConnections, kBatchCallers, count, send_transaction), "us/tx");
    } else if (metric == "pg_rows10k") {
        report(rows10k(count), "ns/row");
    } else if (metric == "pg_stream1m") {
        report(stream1m(), "ns/row");
    } else if (metric == "cancel_ms") {
        report(cancel(count), "ms");
    } else {
        fail("no such metric", argv[1]);
    }
    return sink == 42 ? 1 : 0;
}
