// Runs single statements: over a leased connection while one is free, otherwise over one that is
// shared with other callers. Any fiber, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/base/result.h"
#include "weft/data/pool.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/postgres/internal/shared_queue.h"
#include "weft/data/provider.h"

namespace weft::data::postgres {

class PostgresShared final : public SharedConnections {
public:
    explicit PostgresShared(const std::shared_ptr<Pool>& pool)
        : pool_(pool), queue_(std::make_shared<SharedQueue>(pool)) {}
    ~PostgresShared() override { queue_->close(); }

    Result<Outcome> run(const Statement& statement, RowLimit limit,
                        std::string_view purpose) override;
    std::uint64_t count() const override { return queue_->count(); }

private:
    Result<Outcome> run_alone(const Statement& statement, RowLimit limit, std::string_view purpose,
                              const KeyedText& keyed, bool is_known);

    const std::shared_ptr<Pool> pool_;
    const std::shared_ptr<SharedQueue> queue_;
};

}  // namespace weft::data::postgres
