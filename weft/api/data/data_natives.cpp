// The native functions of weft:data.
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/data/bindings.h"
#include "weft/api/data/data_store.h"
#include "weft/api/data/data_values.h"
#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/on_end.h"
#include "weft/data/json.h"
#include "weft/fiber/cancel.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

using Handle = std::shared_ptr<DataHandle>;

DataStore& store_of(js::Call& call) { return JsApplication::of(call.isolate()).data_store(); }

// The argument is milliseconds from now; Infinity means no deadline.
Deadline deadline_of(double budget_ms) {
    if (!(budget_ms < 1e15)) return Deadline::never();
    return Deadline::after(std::chrono::duration<double, std::milli>(budget_ms));
}

std::uint32_t count_of(double number) {
    return number >= data::kRowsUnlimited ? data::kRowsUnlimited
                                          : static_cast<std::uint32_t>(number);
}

Error closed() { return data::to_error("data", data::kClosedState, "the handle is closed"); }

js::Settled outcome_of(data::Outcome outcome) {
    return [outcome = std::move(outcome)](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        return from_outcome(isolate, outcome);
    };
}

// (token, budgetMs): the number of a configured database.
void data_configured(js::Call& call) {
    DataStore& store = store_of(call);
    Deadline deadline = deadline_of(call.number(1));
    js::start_task(call, "open database",
                   [&store, token = call.text(0), deadline]() -> Result<js::Settled> {
                       CancelScope scope(CancelSource::with_deadline(deadline).token());
                       Result<double> number = store.find_configured(token);
                       if (!number) return data_failure(number.error());
                       return js::settled(*number);
                   });
}

// (provider, place, access, connectionsMax, budgetMs)
void data_open(js::Call& call) {
    JsApplication& application = JsApplication::of(call.isolate());
    DataSource source{.token = {},
                      .name = call.text(0),
                      .provider = call.text(0),
                      .place = call.text(1),
                      .access = static_cast<DataAccess>(call.integer(2)),
                      .connections_max = static_cast<unsigned>(call.integer(3))};
    Deadline deadline = deadline_of(call.number(4));
    js::start_task(
        call, "open database", [&application, source, deadline]() -> Result<js::Settled> {
            CancelScope scope(CancelSource::with_deadline(deadline).token());
            bool is_scratch = source.provider == "sqlite" && source.place == ":memory:";
            if (!application.options().opens_any_data && !is_scratch) {
                return data_failure(
                    Error(ErrorKind::PermissionDenied,
                          "the application opens only what its configuration names"));
            }
            Result<data::Database> database = application.data_store().open(source);
            if (!database) return data_failure(database.error());
            auto handle = std::make_shared<DataHandle>();
            handle->database.emplace(std::move(*database));
            return js::settled(WEFT_TRY(application.data_store().keep(std::move(handle))));
        });
}

// The cancellation of a transaction also applies to every operation in it.
template <class Options>
Options bounded(Options options, const Handle& handle) {
    if (!handle || !handle->stop) return options;
    options.token = handle->stop->token();
    options.deadline = earlier(options.deadline, options.token.deadline());
    return options;
}

// Takes a place in the order of uses when the script asks. Null for a database, where statements
// run on several connections in no order.
std::shared_ptr<TransactionUse> use_of(const Handle& handle) {
    if (!handle || !handle->transaction) return nullptr;
    return std::make_shared<TransactionUse>(handle);
}

template <class Act>
Result<js::Settled> in_order(const std::shared_ptr<TransactionUse>& use, Deadline deadline,
                             Act&& act) {
    if (!use) return act();
    OnEnd end([&] { use->end(); });
    Result<void> begun = use->wait(deadline);
    if (!begun) return data_failure(begun.error());
    return act();
}

enum class Kind { Query, QueryOne, Exec };

template <class Owner>
Result<data::Outcome> run(Owner& owner, Kind kind, const data::Statement& statement,
                          const data::QueryOptions& options) {
    if (kind == Kind::Exec) return owner.exec(statement, options.call());
    data::Outcome outcome;
    if (kind == Kind::Query) {
        outcome.rows = WEFT_TRY(owner.query(statement, options));
        return outcome;
    }
    std::optional<data::Rows> one = WEFT_TRY(owner.query_one(statement, options));
    if (one) outcome.rows = std::move(*one);
    return outcome;
}

Result<data::Outcome> run(DataHandle& handle, Kind kind, const data::Statement& statement,
                          const data::QueryOptions& options) {
    if (handle.transaction) return run(*handle.transaction, kind, statement, options);
    if (handle.database) return run(*handle.database, kind, statement, options);
    return closed();
}

// (handle, kind, text, values, types, rowsMax, budgetMs)
void data_run(js::Call& call) {
    Handle handle = store_of(call).find(call.number(0));
    auto kind = static_cast<Kind>(call.integer(1));
    Result<data::Statement> statement = to_statement(call, call[2], call[3], call[4]);
    data::QueryOptions options;
    options.rows_max = count_of(call.number(5));
    options.deadline = deadline_of(call.number(6));
    options = bounded(options, handle);
    js::start_task(call, "database statement",
                   [handle, kind, statement = std::move(statement), options,
                    use = use_of(handle)]() -> Result<js::Settled> {
                       if (!handle) return data_failure(closed());
                       if (!statement) return data_failure(statement.error());
                       return in_order(use, options.deadline, [&]() -> Result<js::Settled> {
                           Result<data::Outcome> outcome = run(*handle, kind, *statement, options);
                           if (!outcome) return data_failure(outcome.error());
                           return outcome_of(std::move(*outcome));
                       });
                   });
}

// (handle, texts, heads, marks, numbers, text, others, rowsMax, atomic, budgetMs), of which those
// from the texts to the others are as in PackedStatements.
void data_batch(js::Call& call) {
    Handle handle = store_of(call).find(call.number(0));
    data::BatchOptions options;
    options.rows_max = count_of(call.number(7));
    options.atomic = call.flag(8);
    options.deadline = deadline_of(call.number(9));
    options = bounded(options, handle);
    PackedStatements packed{.texts = call[1],
                            .heads = call.bytes(2),
                            .marks = call.bytes(3),
                            .numbers = call.bytes(4),
                            .text = call[5],
                            .others = call[6]};
    js::start_task(
        call, "database batch",
        [handle, statements = to_statements(call, packed), options,
         use = use_of(handle)]() -> Result<js::Settled> {
            if (!statements) return data_failure(statements.error());
            if (!handle || handle->cursor) return data_failure(closed());
            return in_order(use, options.deadline, [&]() -> Result<js::Settled> {
                Result<std::vector<data::Outcome>> outcomes =
                    handle->transaction ? handle->transaction->batch(*statements, options)
                                        : handle->database->batch(*statements, options);
                if (!outcomes) return data_failure(outcomes.error());
                return js::Settled([outcomes = std::move(*outcomes)](js::Isolate& isolate) {
                    return v8::MaybeLocal<v8::Value>(from_outcomes(isolate, outcomes));
                });
            });
        });
}

// (object): a copy of the same shape, which has the same properties.
void data_copy(js::Call& call) {
    WEFT_DASSERT(call[0]->IsObject(), "the prelude copies objects");
    call.give(call[0].As<v8::Object>()->Clone());
}

// (body): function (rows, cells, at, end). The prelude has made the body, and has quoted the names
// in it.
void data_row_maker(js::Call& call) {
    v8::ScriptOrigin origin(call.v8(), call.name("weft:data/rows"));
    v8::ScriptCompiler::Source unit(call[0].As<v8::String>(), origin);
    v8::Local<v8::String> parameters[] = {call.name("rows"), call.name("cells"), call.name("at"),
                                          call.name("end")};
    v8::Local<v8::Function> function;
    if (v8::ScriptCompiler::CompileFunction(call.context(), &unit, std::size(parameters),
                                            parameters, 0, nullptr)
            .ToLocal(&function))
        call.give(function);
}

// Stores a transaction or cursor, and watches the request to which it belongs.
Result<double> keep_for(DataStore& store, const Handle& handle,
                        const std::optional<CancelToken>& request) {
    if (!request) return ErrorKind::Cancelled;
    double number = WEFT_TRY(store.keep(handle));
    Result<void> watched = store.watch(number, *request);
    if (watched) return number;
    handle->abandon();
    store.drop(number);
    return watched.error();
}

// A nested transaction takes no options; only the deadline applies, to its begin.
Result<data::Transaction> begin(DataHandle& handle, const data::TransactionOptions& options) {
    if (handle.database) return handle.database->begin(options);
    CancelScope scope(CancelSource::with_deadline(options.deadline).token());
    return handle.transaction->begin();
}

// (handle, opening, readOnly, isolation, budgetMs)
void data_begin(js::Call& call) {
    DataStore& store = store_of(call);
    Handle handle = store.find(call.number(0));
    auto kept = std::make_shared<DataHandle>();
    kept->opening = call.number(1);
    data::TransactionOptions options;
    options.read_only = call.flag(2);
    options.isolation = static_cast<data::Isolation>(call.integer(3));
    options.deadline = deadline_of(call.number(4));
    options = bounded(options, handle);
    kept->stop.emplace(options.token, options.deadline);
    options.token = kept->stop->token();
    auto request = call.isolate().find_token(call.isolate().current_request());
    js::start_task(
        call, "begin",
        [&store, handle, kept, options, request, use = use_of(handle)]() -> Result<js::Settled> {
            if (!handle || handle->cursor) return data_failure(closed());
            return in_order(use, options.deadline, [&]() -> Result<js::Settled> {
                Result<data::Transaction> begun = begin(*handle, options);
                if (!begun) return data_failure(begun.error());
                kept->transaction.emplace(std::move(*begun));
                return js::settled(WEFT_TRY(keep_for(store, kept, request)));
            });
        });
}

// (handle): cancels the statements of a transaction, which can only be rolled back after that.
void data_stop(js::Call& call) {
    Handle handle = store_of(call).find(call.number(0));
    if (handle && handle->stop) handle->stop->cancel();
}

// (handle, commit)
void data_finish(js::Call& call) {
    DataStore& store = store_of(call);
    double number = call.number(0);
    Handle handle = store.find(number);
    js::start_task(call, "end transaction",
                   [&store, number, handle, commit = call.flag(1)]() -> Result<js::Settled> {
                       if (!handle || !handle->transaction) return data_failure(closed());
                       Result<void> live = commit ? handle->stop->token().check() : Result<void>();
                       Result<void> ended = commit && live ? handle->transaction->commit()
                                                           : handle->transaction->rollback();
                       if (!handle->transaction->is_open()) store.drop(number);
                       if (!live) return data_failure(live.error());
                       if (!ended) return data_failure(ended.error());
                       return js::settled();
                   });
}

// (handle, opening, text, values, types, rowsMax, batchRows, budgetMs): [number, columns]
void data_cursor(js::Call& call) {
    DataStore& store = store_of(call);
    Handle handle = store.find(call.number(0));
    Result<data::Statement> statement = to_statement(call, call[2], call[3], call[4]);
    data::CursorOptions options;
    options.rows_max = count_of(call.number(5));
    options.batch_rows = count_of(call.number(6));
    options.deadline = deadline_of(call.number(7));
    options = bounded(options, handle);
    auto kept = std::make_shared<DataHandle>();
    kept->opening = call.number(1);
    kept->stop.emplace(options.token, options.deadline);
    options.token = kept->stop->token();
    auto request = call.isolate().find_token(call.isolate().current_request());
    js::start_task(
        call, "open cursor",
        [&store, handle, kept, statement, options, request,
         use = use_of(handle)]() -> Result<js::Settled> {
            if (!handle || handle->cursor) return data_failure(closed());
            if (!statement) return data_failure(statement.error());
            Result<js::Settled> done =
                in_order(use, options.deadline, [&]() -> Result<js::Settled> {
                    Result<data::Cursor> opened =
                        handle->transaction ? handle->transaction->query_cursor(*statement, options)
                                            : handle->database->query_cursor(*statement, options);
                    if (!opened) return data_failure(opened.error());
                    kept->cursor.emplace(std::move(*opened));
                    return js::settled();
                });
            if (!kept->cursor) return done;
            double number = WEFT_TRY(keep_for(store, kept, request));
            return js::Settled([kept, number](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
                v8::Local<v8::Value> parts[] = {v8::Number::New(isolate.v8(), number),
                                                from_columns(isolate, kept->cursor->columns())};
                return v8::Array::New(isolate.v8(), parts, std::size(parts)).As<v8::Value>();
            });
        });
}

// (cursor): the values of the next rows; undefined at the end.
void data_next(js::Call& call) {
    DataStore& store = store_of(call);
    double number = call.number(0);
    Handle handle = store.find(number);
    js::start_task(call, "fetch rows", [&store, number, handle]() -> Result<js::Settled> {
        if (!handle || !handle->cursor) return data_failure(closed());
        Result<data::Rows> rows = handle->cursor->next();
        if (!rows || rows->empty()) store.drop(number);
        if (!rows) return data_failure(rows.error());
        if (rows->empty()) return js::settled();
        return js::Settled(
            [rows = std::move(*rows)](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
                return from_cells(isolate, rows);
            });
    });
}

// (cursor, asLines): the next rows as JSON, one per line or separated by commas; undefined at the
// end. No row is made into a JavaScript object.
void data_next_json(js::Call& call) {
    DataStore& store = store_of(call);
    double number = call.number(0);
    Handle handle = store.find(number);
    js::start_task(call, "fetch rows",
                   [&store, number, handle, lines = call.flag(1)]() -> Result<js::Settled> {
                       if (!handle || !handle->cursor) return data_failure(closed());
                       Result<data::Rows> rows = handle->cursor->next();
                       if (!rows || rows->empty()) store.drop(number);
                       if (!rows) return data_failure(rows.error());
                       if (rows->empty()) return js::settled();
                       std::string text;
                       for (data::Row row : *rows) {
                           if (!lines && !text.empty()) text.push_back(',');
                           data::append_json(text, row);
                           if (lines) text.push_back('\n');
                       }
                       Bytes bytes = as_bytes(text);
                       return js::settled(std::vector<std::byte>(bytes.begin(), bytes.end()));
                   });
}

// (cursor)
void data_close(js::Call& call) {
    DataStore& store = store_of(call);
    double number = call.number(0);
    Handle handle = store.find(number);
    js::start_task(call, "close", [&store, number, handle]() -> Result<js::Settled> {
        // A fetch that is running is cancelled, and the close does not wait for it.
        if (handle && handle->cursor) handle->abandon();
        store.drop(number);
        return js::settled();
    });
}

// (database, opening): ends the transactions and cursors of this open(), then closes the database
// unless it belongs to the configuration, because others may have opened that too.
void data_close_database(js::Call& call) {
    DataStore& store = store_of(call);
    double number = call.number(0);
    js::start_task(call, "close database",
                   [&store, number, opening = call.number(1)]() -> Result<js::Settled> {
                       store.end_all_of(opening);
                       Handle handle = store.find(number);
                       if (!handle || store.is_configured(number)) return js::settled();
                       static_cast<void>(handle->database->close());
                       store.drop(number);
                       return js::settled();
                   });
}

// (handle): [provider, mode, placeholders, connectionsMax, connections, idle, inUse, waiting]
void data_describe(js::Call& call) {
    Handle handle = store_of(call).find(call.number(0));
    if (!handle || !handle->database) return;
    data::Provider& provider = handle->database->provider();
    data::PoolStats stats = handle->database->stats();
    auto number = [&](auto value) -> v8::Local<v8::Value> {
        return v8::Number::New(call.v8(), static_cast<double>(value));
    };
    v8::Local<v8::Value> parts[] = {call.string(provider.name()),
                                    call.string(provider.mode()),
                                    number(provider.placeholders()),
                                    number(stats.connections_max),
                                    number(stats.connections),
                                    number(stats.idle),
                                    number(stats.in_use),
                                    number(stats.waiting)};
    call.give(call.array(parts));
}

void data_redact(js::Call& call) { call.give(data::redacted(call.text(0))); }

constexpr js::Binding kBindings[] = {
    js::bind<data_configured>("dataConfigured",
                              "(token: string, budgetMs: number): Promise<number>",
                              js::Awaits::Cancellable),
    js::bind<data_open>("dataOpen",
                        "(provider: string, place: string, access: number, "
                        "connectionsMax: number, budgetMs: number): Promise<number>",
                        js::Awaits::Cancellable),
    js::bind<data_run>("dataRun",
                       "(handle: number, kind: number, text: string, values: unknown[], "
                       "types: unknown[] | undefined, rowsMax: number, budgetMs: number): "
                       "Promise<unknown[]>",
                       js::Awaits::Cancellable),
    js::bind<data_batch>("dataBatch",
                         "(handle: number, texts: string[], heads: Uint32Array, "
                         "marks: Uint8Array, numbers: Float64Array, text: string, "
                         "others: unknown[], rowsMax: number, atomic: boolean, "
                         "budgetMs: number): Promise<unknown[]>",
                         js::Awaits::Cancellable),
    js::bind<data_copy>("dataCopy", "(object: object): object"),
    js::bind<data_row_maker>("dataRowMaker", "(body: string): Function"),
    js::bind<data_begin>("dataBegin",
                         "(handle: number, opening: number, readOnly: boolean, "
                         "isolation: number, budgetMs: number): Promise<number>",
                         js::Awaits::Cancellable),
    js::bind<data_stop>("dataStop", "(transaction: number): void"),
    js::bind<data_finish>("dataFinish", "(handle: number, commit: boolean): Promise<void>",
                          js::Awaits::Uncancellable),
    js::bind<data_cursor>("dataCursor",
                          "(handle: number, opening: number, text: string, values: unknown[], "
                          "types: unknown[] | undefined, rowsMax: number, batchRows: number, "
                          "budgetMs: number): Promise<[number, string | string[]]>",
                          js::Awaits::Cancellable),
    js::bind<data_next>("dataNext", "(cursor: number): Promise<unknown[] | undefined>",
                        js::Awaits::Cancellable),
    js::bind<data_next_json>("dataNextJson",
                             "(cursor: number, asLines: boolean): Promise<ArrayBuffer | undefined>",
                             js::Awaits::Cancellable),
    js::bind<data_close>("dataClose", "(cursor: number): Promise<void>", js::Awaits::Uncancellable),
    js::bind<data_close_database>("dataCloseDatabase",
                                  "(database: number, opening: number): Promise<void>",
                                  js::Awaits::Uncancellable),
    js::bind<data_describe>("dataDescribe", "(handle: number): unknown[] | undefined"),
    js::bind<data_redact>("dataRedact", "(connectionString: string): string"),
};

}  // namespace

std::span<const js::Binding> data_bindings() { return kBindings; }

}  // namespace weft::api
