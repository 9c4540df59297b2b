#include <string_view>
#include <utility>

#include "weft/data/postgres/internal/connection.h"
#include "weft/data/postgres/internal/connector.h"
#include "weft/data/postgres/internal/shared.h"
#include "weft/data/postgres/postgres.h"

namespace weft::data {
namespace postgres {
namespace {

class PostgresProvider final : public Provider {
public:
    explicit PostgresProvider(std::unique_ptr<Connector> connector)
        : connector_(std::move(connector)) {}

    std::string_view name() const override { return "postgres"; }
    std::string_view mode() const override { return "reactor"; }
    Placeholders placeholders() const override { return Placeholders::Dollar; }
    Result<std::unique_ptr<Connection>> connect() override {
        Session session = WEFT_TRY(connector_->connect());
        return std::make_unique<PostgresConnection>(std::move(session));
    }
    std::unique_ptr<SharedConnections> share(const std::shared_ptr<Pool>& pool) override {
        return std::make_unique<PostgresShared>(pool);
    }

private:
    std::unique_ptr<Connector> connector_;
};

}  // namespace
}  // namespace postgres

Result<std::unique_ptr<Provider>> postgres_provider(PostgresOptions options, Access access) {
    auto connector = WEFT_TRY(postgres::Connector::create(options, access));
    return std::make_unique<postgres::PostgresProvider>(std::move(connector));
}

Result<Database> open_postgres(PostgresOptions options, DatabaseOptions database) {
    auto provider = WEFT_TRY(postgres_provider(std::move(options), database.access));
    return Database::open(std::move(provider), std::move(database));
}

}  // namespace weft::data
