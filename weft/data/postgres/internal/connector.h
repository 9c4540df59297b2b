// Connector: makes connections to PostgreSQL, trying each address of each host in turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/internal/dsn.h"
#include "weft/data/postgres/internal/link.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/postgres/postgres.h"
#include "weft/net/resolver.h"

namespace weft::data::postgres {

// Any fiber; several at once.
class Connector {
public:
    static Result<std::unique_ptr<Connector>> create(const PostgresOptions& options, Access access);

    // Honours the ambient deadline. The error is that of the last address tried.
    Result<Session> connect();

private:
    Connector(Dsn dsn, const PostgresOptions& options, Access access);
    // Tries all hosts. `rounds` counts this round and those that may follow, for sharing out the
    // time.
    Result<std::unique_ptr<Link>> connect_with(std::string_view session_attributes,
                                               std::size_t rounds);
    Deadline attempt_deadline(std::size_t places_left) const;
    Result<std::vector<std::string>> addresses_of(const Host& host, Deadline deadline);
    void make_cancel_tls();

    Dsn dsn_;
    SessionOptions session_;
    net::Resolver resolver_;
    // Owners: the connector and its links. Null where cancels are not encrypted.
    std::shared_ptr<CancelContext> cancel_tls_;
};

}  // namespace weft::data::postgres
