#include "weft/data/odbc/odbc.h"

#include <utility>

#include "weft/data/failure.h"
#include "weft/data/internal/core.h"
#include "weft/data/internal/forms.h"
#include "weft/data/odbc/internal/connection.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/executor.h"
#include "weft/data/pool.h"

namespace weft::data {
namespace {

// The driver manager stores its length in a signed 16-bit integer.
constexpr std::size_t kConnectionStringMax = 16'384;

class OdbcProvider final : public Provider {
public:
    OdbcProvider(OdbcOptions options, Access access)
        : options_(std::move(options)), access_(access) {}

    std::string_view name() const override { return odbc::kName; }
    std::string_view mode() const override { return "blocking pool"; }
    Placeholders placeholders() const override { return Placeholders::Question; }
    Result<std::unique_ptr<Connection>> connect() override {
        return odbc::OdbcConnection::open(options_, access_, cancel_thread_);
    }

private:
    const OdbcOptions options_;
    const Access access_;
    std::shared_ptr<odbc::CancelThread> cancel_thread_ = std::make_shared<odbc::CancelThread>();
};

Error refused(std::string_view why) {
    return {ErrorKind::Misuse, std::string("odbc: connection string: ").append(why)};
}

}  // namespace

Result<std::unique_ptr<Provider>> odbc_provider(OdbcOptions options, Access access) {
    const std::string& text = options.connection_string;
    if (text.find('\0') != std::string::npos) return refused("it has a NUL");
    if (text.find('=') == std::string::npos) return refused("it has no key=value");
    if (text.size() > kConnectionStringMax) return refused("it is too long");
    if (!forms::is_utf8(text)) return refused("it is not UTF-8");
    if (options.login_timeout <= Nanoseconds::zero())
        return Error(ErrorKind::Misuse, "odbc: login_timeout is not positive");
    return std::make_unique<OdbcProvider>(std::move(options), access);
}

Result<Database> open_odbc(OdbcOptions options, DatabaseOptions database) {
    auto provider = WEFT_TRY(odbc_provider(std::move(options), database.access));
    return Database::open(std::move(provider), std::move(database));
}

Result<OdbcFacts> odbc_facts(Database& database, const CallOptions& options) {
    if (database.provider().name() != odbc::kName)
        return to_error(database.provider().name(), kUnsupportedState, "it has no driver of ODBC");
    database_internal::CallScope scope(options);
    Lease lease = WEFT_TRY(database.reserve());
    return static_cast<odbc::OdbcConnection&>(*lease).facts();
}

}  // namespace weft::data
