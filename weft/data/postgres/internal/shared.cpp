#include "weft/data/postgres/internal/shared.h"

#include <optional>
#include <utility>

#include "weft/data/postgres/internal/connection.h"
#include "weft/fiber/fiber.h"

namespace weft::data::postgres {

Result<Outcome> PostgresShared::run(const Statement& statement, RowLimit limit,
                                    std::string_view purpose) {
    KeyedText keyed = Session::keyed_text_of(statement);
    KnownStatement known = queue_->find(keyed.key);
    // A plain thread cannot spawn the fibers that would carry the statement.
    if (!known || !weft::current() || pool_->has_free())
        return run_alone(statement, limit, purpose, keyed, known != nullptr);
    auto request = std::make_shared<Request>();
    request->text = std::move(keyed.text);
    request->key = std::move(keyed.key);
    request->values = statement.parameters();
    request->limit = limit;
    request->known = std::move(known);
    std::optional<Result<Outcome>> outcome = queue_->carry(request);
    if (outcome) return std::move(*outcome);
    return run_alone(statement, limit, purpose, Session::keyed_text_of(statement), false);
}

Result<Outcome> PostgresShared::run_alone(const Statement& statement, RowLimit limit,
                                          std::string_view purpose, const KeyedText& keyed,
                                          bool is_known) {
    Lease lease = WEFT_TRY(pool_->acquire(purpose));
    if (is_known) return lease->run(statement, limit);
    Instant begun = Clock::now();
    Result<Outcome> outcome = lease->run(statement, limit);
    if (!outcome || Clock::now() - begun > kQuick) return outcome;
    Session& session = static_cast<PostgresConnection&>(*lease).session();
    if (KnownStatement learned = session.description_of(keyed)) queue_->learn(keyed.key, learned);
    return outcome;
}

}  // namespace weft::data::postgres
