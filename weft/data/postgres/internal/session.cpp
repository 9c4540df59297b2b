#include "weft/data/postgres/internal/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/parameters.h"
#include "weft/data/postgres/internal/words.h"
#include "weft/fiber/cancel.h"

namespace weft::data::postgres {
namespace {

// Behind a pooler several connections share server sessions, so the names of their prepared
// statements must differ.
std::string random_prefix() {
    return "weft_" + std::to_string(env::random(RandomStream::Secret)) + "_";
}

std::string text_of(const Statement& statement) {
    return statement.is_plain() ? statement.plain_text() : statement.text(Placeholders::Dollar);
}

bool is_row_status(ExecStatusType status) {
#ifdef LIBPQ_HAS_CHUNK_MODE
    if (status == PGRES_TUPLES_CHUNK) return true;
#endif
    return status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK;
}

bool is_copy_status(ExecStatusType status) {
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

// The protocol counts the parameters of an execution in 16 bits.
constexpr std::size_t kParametersMax = 65'535;
// libpq accepts the description of at most this many parameters; it takes a longer one for a loss
// of synchronization.
constexpr std::size_t kDescribedMax = 7'498;

// Checked before sending, because the server reports a wrong number as a protocol violation.
Result<void> check_count(const std::vector<Value>& values, const std::vector<Oid>& types) {
    if (values.size() == types.size()) return {};
    return data::to_error("postgres", "07001",
                          "the statement has " + std::to_string(types.size()) +
                              " parameters, and " + std::to_string(values.size()) +
                              " values were given");
}

// The parameter types of a statement that is not prepared. None for JSON: jsonb would reformat a
// json value, so the statement has to say which of the two it is.
std::vector<Oid> natural_types(const std::vector<Value>& values) {
    std::vector<Oid> types;
    for (const Value& value : values)
        types.push_back(value.type() == Type::Json ? oid::kNone : natural_type(value));
    return types;
}

}  // namespace

void request_rows_singly(PGconn* pg) {
#ifdef LIBPQ_HAS_CHUNK_MODE
    constexpr int kChunkRows = 128;
    static_cast<void>(PQsetChunkedRowsMode(pg, kChunkRows));
#else
    static_cast<void>(PQsetSingleRowMode(pg));
#endif
}

// ---------------------------------------------------------------- rows

void RowForm::take_from(const PGresult* result) {
    std::vector<Column> all;
    types.clear();
    for (int at = 0; at < PQnfields(result); ++at) {
        Oid type = PQftype(result, at);
        types.push_back(type);
        all.push_back({.name = PQfname(result, at), .database_type = std::string(type_name(type))});
    }
    format = PQnfields(result) > 0 ? PQfformat(result, 0) : kTextFormat;
    columns = std::make_shared<const std::vector<Column>>(std::move(all));
}

Result<void> RowForm::append(const PGresult* result, int row, Rows& rows) const {
    WEFT_DASSERT(row >= 0 && row < PQntuples(result), "the result has this row");
    WEFT_DASSERT(rows.columns().size() == types.size(), "the rows were made for these columns");
    int width = static_cast<int>(types.size());
    if (PQnfields(result) != width)
        return data::to_error("postgres", "08P01", "a row has another width than its columns");
    for (int at = 0; at < width; ++at) {
        if (PQgetisnull(result, row, at)) {
            rows.add_value(Value());
            continue;
        }
        std::string_view bytes(PQgetvalue(result, row, at),
                               static_cast<std::size_t>(PQgetlength(result, row, at)));
        WEFT_TRY(append_decoded(rows, types[static_cast<std::size_t>(at)], format, bytes));
    }
    rows.end_row();
    return {};
}

bool RowForm::fits(const PGresult* result) const {
    if (PQnfields(result) != static_cast<int>(types.size())) return false;
    for (std::size_t at = 0; at < types.size(); ++at) {
        if (PQftype(result, static_cast<int>(at)) != types[at]) return false;
    }
    return true;
}

// ---------------------------------------------------------------- sending

Session::Session(std::unique_ptr<Link> link, const SessionOptions& options)
    : link_(std::move(link)), options_(options), cache_(random_prefix(), options.statements_max) {}

bool Session::is_in_transaction() const {
    return link_->status() == PQTRANS_INTRANS || link_->status() == PQTRANS_INERROR;
}

Result<void> Session::check(const Statement& statement) const {
    if (link_->is_broken()) return connection_lost();
    if (link_->is_busy())
        return Error(ErrorKind::Misuse, "postgres: the connection is in use by a cursor or a copy");
    WEFT_TRY(CancelToken::current().check());
    WEFT_TRY(check_text("postgres", statement.plain_text()));
    if (!statement.is_plain() || !options_.read_only) return {};
    // The server itself refuses writes unless the session changes its settings.
    std::string_view text = statement.plain_text();
    if (has_several_commands(text) || changes_settings(text))
        return data::to_error("postgres", kAccessState, "this handle can only read");
    return {};
}

Result<RowForm> Session::start(const Statement& statement) {
    WEFT_ASSERT(link_->is_broken() || !link_->is_busy(), "the previous exchange has ended");
    std::string text = text_of(statement);
    RowForm form;
    if (statement.parameters().empty() && has_several_commands(text)) {
        dirty_ = dirty_ || may_change_session(text);
        WEFT_TRY(link_->sent(PQsendQuery(link_->pg(), text.c_str())));
    } else {
        const Prepared* prepared = nullptr;
        if (can_prepare(statement)) {
            std::string key = cache_key(text, statement.parameters());
            prepared = WEFT_TRY(find_or_prepare(statement, {text, std::move(key)}));
        }
        form = WEFT_TRY(send(text, statement.parameters(), prepared));
    }
    request_rows_singly(link_->pg());
    WEFT_TRY(link_->flush());
    return form;
}

Result<void> Session::queue_command(const char* text) {
    WEFT_ASSERT(link_->is_broken() || PQpipelineStatus(link_->pg()) != PQ_PIPELINE_OFF,
                "the link is in a pipeline");
    return link_->sent(
        PQsendQueryParams(link_->pg(), text, 0, nullptr, nullptr, nullptr, nullptr, kTextFormat));
}

bool Session::has_no_rows(const Statement& statement) {
    const Prepared* prepared = cache_.find(keyed_text_of(statement).key);
    return prepared && prepared->column_types.empty();
}

bool Session::only_reads(const Statement& statement) {
    return postgres::only_reads(statement.plain_text());
}

bool Session::may_have_effects(const Statement& statement) {
    return postgres::may_have_effects(statement.plain_text());
}

bool Session::can_prepare(const Statement& statement) const {
    return options_.prepare && statement.parameters().size() <= kDescribedMax;
}

bool Session::can_queue(const Statement& statement) const {
    return !statement.parameters().empty() || !has_several_commands(text_of(statement));
}

KeyedText Session::keyed_text_of(const Statement& statement) {
    KeyedText keyed;
    keyed.text = text_of(statement);
    keyed.key = cache_key(keyed.text, statement.parameters());
    return keyed;
}

Result<void> Session::prepare(const Statement& statement) {
    if (can_prepare(statement)) WEFT_TRY(find_or_prepare(statement, keyed_text_of(statement)));
    return {};
}

const Prepared* Session::prepared(const Statement& statement) {
    return options_.prepare ? cache_.find(keyed_text_of(statement).key) : nullptr;
}

Result<RowForm> Session::queue(const Statement& statement, const Prepared* prepared) {
    WEFT_ASSERT(link_->is_broken() || PQpipelineStatus(link_->pg()) != PQ_PIPELINE_OFF,
                "the link is in a pipeline");
    // A prepared statement is sent without its text.
    if (prepared) return send({}, statement.parameters(), prepared);
    return send(text_of(statement), statement.parameters(), nullptr);
}

std::shared_ptr<const Prepared> Session::description_of(const KeyedText& keyed) {
    Prepared described;
    if (!options_.prepare) {
        if (has_several_commands(keyed.text) || may_change_session(keyed.text)) return nullptr;
    } else {
        const Prepared* prepared = cache_.find(keyed.key);
        if (!prepared || prepared->changes_session) return nullptr;
        described = *prepared;
    }
    return std::make_shared<const Prepared>(std::move(described));
}

Result<Session::Queued> Session::queue_known(const std::string& key, const std::string& text,
                                             const std::vector<Value>& values,
                                             const Prepared& known) {
    WEFT_ASSERT(link_->is_broken() || PQpipelineStatus(link_->pg()) != PQ_PIPELINE_OFF,
                "the link is in a pipeline");
    Queued queued;
    if (!options_.prepare) {
        queued.form = WEFT_TRY(send(text, values, nullptr));
        return queued;
    }
    if (const Prepared* prepared = cache_.find(key)) {
        queued.form = WEFT_TRY(send(text, values, prepared));
        return queued;
    }
    // Detects invalid values before anything is sent.
    WEFT_TRY(check_count(values, known.parameter_types));
    WEFT_TRY(Parameters::make(values, known.parameter_types));
    PGconn* pg = link_->pg();
    int accepted = 1;
    if (std::string forgotten = cache_.evict(); !forgotten.empty()) {
        std::string deallocate = "deallocate " + forgotten;
        accepted = PQsendQueryParams(pg, deallocate.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                                     kTextFormat);
        ++queued.before;
    }
    Prepared mine = known;
    mine.name = cache_.next_name();
    accepted = accepted != 0 ? PQsendPrepare(pg, mine.name.c_str(), text.c_str(),
                                             static_cast<int>(mine.parameter_types.size()),
                                             mine.parameter_types.data())
                             : 0;
    ++queued.before;
    const Prepared& prepared = cache_.add(key, std::move(mine));
    Result<RowForm> form = connection_lost();
    if (accepted != 0) form = send(text, values, &prepared);
    // A part of it may have been sent.
    if (!form) link_->set_broken();
    queued.form = WEFT_TRY(std::move(form));
    return queued;
}

Result<RowForm> Session::send(const std::string& text, const std::vector<Value>& values,
                              const Prepared* prepared) {
    if (values.size() > kParametersMax)
        return data::to_error("postgres", "54000", "a statement has at most 65535 parameters");
    if (!prepared) {
        std::vector<Oid> types = natural_types(values);
        Parameters parameters = WEFT_TRY(Parameters::make(values, types));
        WEFT_ASSERT(static_cast<std::size_t>(parameters.count()) == types.size(),
                    "one type per parameter");
        dirty_ = dirty_ || may_change_session(text);
        WEFT_TRY(link_->sent(PQsendQueryParams(
            link_->pg(), text.c_str(), parameters.count(), types.data(), parameters.values(),
            parameters.lengths(), parameters.formats(), kTextFormat)));
        return RowForm();
    }
    WEFT_TRY(check_count(values, prepared->parameter_types));
    Parameters parameters = WEFT_TRY(Parameters::make(values, prepared->parameter_types));
    WEFT_ASSERT(static_cast<std::size_t>(parameters.count()) == prepared->parameter_types.size(),
                "one value per parameter");
    dirty_ = dirty_ || prepared->changes_session;
    WEFT_TRY(link_->sent(PQsendQueryPrepared(
        link_->pg(), prepared->name.c_str(), parameters.count(), parameters.values(),
        parameters.lengths(), parameters.formats(), prepared->format)));
    return RowForm{prepared->columns, prepared->column_types, prepared->format};
}

// ---------------------------------------------------------------- preparing

Result<const Prepared*> Session::find_or_prepare(const Statement& statement,
                                                 const KeyedText& keyed) {
    if (const Prepared* found = cache_.find(keyed.key)) return found;
    Prepared prepared = WEFT_TRY(prepare_now(keyed.text, statement.parameters()));
    return &cache_.add(keyed.key, std::move(prepared));
}

// Prepares and describes in one round trip, and deallocates the statement `forget` if that is not
// empty.
Result<ResultPointer> Session::describe(const std::string& name, const std::string& text,
                                        const std::vector<Oid>& types, const std::string& forget) {
    PGconn* pg = link_->pg();
    WEFT_TRY(link_->enter_pipeline());
    if (!forget.empty()) {
        std::string deallocate = "deallocate " + forget;
        WEFT_TRY(link_->sent(PQsendQueryParams(pg, deallocate.c_str(), 0, nullptr, nullptr, nullptr,
                                               nullptr, kTextFormat)));
    }
    WEFT_TRY(link_->sent(PQsendPrepare(pg, name.c_str(), text.c_str(),
                                       static_cast<int>(types.size()), types.data())));
    WEFT_TRY(link_->sent(PQsendDescribePrepared(pg, name.c_str())));
    WEFT_TRY(link_->sync());
    WEFT_TRY(link_->flush());
    ResultPointer last;
    std::optional<Error> failure;
    while (link_->pending_syncs() > 0) {
        ResultPointer result = WEFT_TRY(link_->next_in_pipeline());
        ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_PIPELINE_SYNC) {
            link_->note_sync();
        } else if (status == PGRES_FATAL_ERROR) {
            if (!failure) failure = to_error(result.get());
            if (link_->is_broken()) return *failure;
        } else {
            last = std::move(result);
        }
    }
    WEFT_TRY(link_->leave_pipeline());
    if (failure) return *failure;
    return last;
}

// The server takes a parameter whose type the text leaves open for text. Where the value is of
// another type, a second attempt declares the value's own type.
Result<Prepared> Session::prepare_now(const std::string& text, const std::vector<Value>& values) {
    Prepared prepared;
    prepared.name = cache_.next_name();
    prepared.changes_session = may_change_session(text);
    ResultPointer told = WEFT_TRY(describe(prepared.name, text, {}, cache_.evict()));
    // The number of values is checked when they are sent.
    std::size_t count = std::min(values.size(), static_cast<std::size_t>(PQnparams(told.get())));
    std::vector<Oid> wanted(count, oid::kNone);
    bool is_open = false;
    for (std::size_t at = 0; at < count; ++at) {
        Oid type = PQparamtype(told.get(), static_cast<int>(at));
        if (type != oid::kText && type != oid::kUnknown) continue;
        wanted[at] = natural_type(values[at]);
        is_open = is_open || wanted[at] != oid::kNone;
    }
    if (is_open) {
        std::string before = std::exchange(prepared.name, cache_.next_name());
        told = WEFT_TRY(describe(prepared.name, text, wanted, before));
    }
    for (int at = 0; at < PQnparams(told.get()); ++at)
        prepared.parameter_types.push_back(PQparamtype(told.get(), at));
    RowForm form;
    form.take_from(told.get());
    prepared.columns = form.columns;
    prepared.column_types = form.types;
    prepared.format = std::ranges::all_of(form.types, is_known) ? kBinaryFormat : kTextFormat;
    return prepared;
}

bool Session::forget_if_stale(const std::string& key, const Error& error) {
    // 26000: the prepared statement was dropped. 0A000: "cached plan must not change result type".
    // 42P05: the name exists already, in a session that a pooler has lent to others.
    constexpr std::array<std::string_view, 3> kStale = {"26000", "0A000", "42P05"};
    std::string state = sqlstate_of(error);
    if (!options_.prepare || std::ranges::find(kStale, state) == kStale.end()) return false;
    cache_.drop(key);
    return true;
}

// ---------------------------------------------------------------- results

void Session::note_tag(const PGresult* result, Outcome& outcome) {
    std::string_view tag = PQcmdStatus(const_cast<PGresult*>(result));
    if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") cache_.clear();
    constexpr std::array<std::string_view, 5> kChanging = {"INSERT", "UPDATE", "DELETE", "MERGE",
                                                           "COPY"};
    bool changing = std::ranges::any_of(
        kChanging, [&](std::string_view word) { return tag.starts_with(word); });
    if (!changing) return;
    std::string_view count = PQcmdTuples(const_cast<PGresult*>(result));
    std::from_chars(count.data(), count.data() + count.size(), outcome.affected_rows);
}

Result<Outcome> Session::collect(RowForm form, const Statement& statement, RowLimit limit,
                                 bool& stopped) {
    Outcome outcome;
    std::optional<Error> failure;
    bool skips = false;
    if (form.columns) outcome.rows = Rows(form.columns);
    for (;;) {
        ResultPointer result = WEFT_TRY(link_->next());
        if (!result) break;
        ExecStatusType status = PQresultStatus(result.get());
        if (is_copy_status(status))
            return Error(ErrorKind::Misuse, "postgres: a copy takes CopyIn or CopyOut");
        if (status == PGRES_FATAL_ERROR || status == PGRES_PIPELINE_ABORTED) {
            if (!failure) failure = to_error(result.get());
            if (link_->is_broken()) break;
            continue;
        }
        // Of several commands the last result set is kept.
        if (!form.columns && is_row_status(status)) {
            form.take_from(result.get());
            outcome.rows = Rows(form.columns);
            skips = false;
        }
        for (int row = 0; row < PQntuples(result.get()) && !skips; ++row) {
            WEFT_ASSERT(outcome.rows.size() <= limit.rows_max, "the limit holds");
            if (outcome.rows.size() < limit.rows_max) {
                WEFT_TRY(form.append(result.get(), row, outcome.rows));
                continue;
            }
            skips = limit.beyond == RowLimit::Beyond::Stop && may_have_effects(statement);
            stopped = !skips;
            if (limit.beyond == RowLimit::Beyond::Fail)
                return row_limit_error("postgres", limit.rows_max);
            if (stopped) return outcome;
        }
        note_tag(result.get(), outcome);
        bool is_end = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
        if (is_end && PQpipelineStatus(link_->pg()) == PQ_PIPELINE_OFF) form.columns = nullptr;
    }
    if (failure) return *failure;
    return outcome;
}

Result<std::string> Session::command(const std::string& text) {
    if (link_->is_broken()) return connection_lost();
    WEFT_TRY(link_->sent(PQsendQuery(link_->pg(), text.c_str())));
    WEFT_TRY(link_->flush());
    std::optional<Error> failure;
    std::string tag;
    for (;;) {
        ResultPointer result = WEFT_TRY(link_->next());
        if (!result) break;
        if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR && !failure)
            failure = to_error(result.get());
        tag = PQcmdStatus(result.get());
        if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") cache_.clear();
        if (is_copy_status(PQresultStatus(result.get())))
            return Error(ErrorKind::Misuse, "postgres: a copy takes CopyIn or CopyOut");
        if (link_->is_broken()) break;
    }
    if (failure) return *failure;
    return tag;
}

void Session::note_end() {
    if (!options_.read_only || link_->is_broken()) return;
    // PostgreSQL reports changes of this setting since version 14.
    const char* told = PQparameterStatus(link_->pg(), "default_transaction_read_only");
    if (told && std::string_view(told) == "off") link_->set_broken();
}

Result<void> Session::discard() {
    WEFT_TRY(command("discard all"));
    cache_.clear();
    dirty_ = false;
    return {};
}

}  // namespace weft::data::postgres
