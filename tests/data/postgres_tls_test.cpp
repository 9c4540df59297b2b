#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/testing/eventually.h"

namespace weft::data::testing {
namespace {

using weft::testing::eventually;

enum class Becomes : std::uint8_t { Plain, Encrypted, Refused };

struct Mode {
    const char* name;
    Becomes with_tls;
    Becomes without_tls;
    Becomes by_nobody;   // the certificate is of an authority that is not trusted
    Becomes other_host;  // it is for another host
};

// What PostgreSQL's manual promises of each: "require" looks at no authority unless one is given.
constexpr Mode kModes[] = {
    {"disable", Becomes::Plain, Becomes::Plain, Becomes::Plain, Becomes::Plain},
    {"allow", Becomes::Plain, Becomes::Plain, Becomes::Plain, Becomes::Plain},
    {"prefer", Becomes::Encrypted, Becomes::Plain, Becomes::Encrypted, Becomes::Encrypted},
    {"require", Becomes::Encrypted, Becomes::Refused, Becomes::Encrypted, Becomes::Encrypted},
    {"verify-ca", Becomes::Encrypted, Becomes::Refused, Becomes::Refused, Becomes::Encrypted},
    {"verify-full", Becomes::Encrypted, Becomes::Refused, Becomes::Refused, Becomes::Refused},
};

class PostgresTls : public PostgresTest {
protected:
    void TearDown() override { unsetenv("PGSSLMODE"); }

    std::string trusted() { return " sslrootcert=" + server->word("folder") + "/ca.pem"; }
    // Others have signed it. Only those modes that need an authority get one.
    static std::string foreign(std::string_view mode) {
        return mode.starts_with("verify") ? " sslrootcert=/etc/ssl/certs/ca-certificates.crt"
                                          : " sslrootcert=/nonexistent";
    }
    std::string at(std::string_view host, std::string_view more) {
        return "host=" + std::string(host) + " hostaddr=127.0.0.1 port=" + server->word("port") +
               " user=weft dbname=postgres password=" + server->word("password") +
               std::string(more);
    }
    // Within a time that only a broken test needs.
    Becomes outcome_of(const std::string& where) {
        CancelScope scope(CancelSource::with_deadline(far()).token());
        Result<std::unique_ptr<Connection>> connection = connect({.connection_string = where});
        if (!connection) {
            EXPECT_EQ(cause_of(connection.error()), Cause::Connection)
                << connection.error().message();
            return Becomes::Refused;
        }
        Result<Value> encrypted =
            ask(**connection, "select ssl from pg_stat_ssl where pid = pg_backend_pid()");
        EXPECT_TRUE(encrypted);
        return encrypted == Value(true) ? Becomes::Encrypted : Becomes::Plain;
    }
    // Of those who connect from now on.
    Result<void> switch_tls(const char* text, const char* becomes) {
        auto observer = WEFT_TRY(connect());
        WEFT_TRY(observer->run(text, kAnyRows));
        WEFT_TRY(ask(*observer, "select pg_reload_conf()"));
        EXPECT_TRUE(eventually([&] {
            auto another = connect();
            return another && ask(**another, "show ssl") == Value(becomes);
        }));
        return {};
    }
};

TEST_F(PostgresTls, DAT_3k_each_mode_is_encrypted_as_it_promises_or_refused) {
    run([&]() -> Result<void> {
        for (const Mode& mode : kModes) {
            std::string asked = std::string(" sslmode=") + mode.name;
            EXPECT_EQ(outcome_of(at("localhost", asked + trusted())), mode.with_tls) << mode.name;
            EXPECT_EQ(outcome_of(at("localhost", asked + foreign(mode.name))), mode.by_nobody)
                << mode.name;
            EXPECT_EQ(outcome_of(at("other.test", asked + trusted())), mode.other_host)
                << mode.name;
        }
        WEFT_TRY(switch_tls("alter system set ssl = off", "off"));
        for (const Mode& mode : kModes) {
            std::string asked = std::string(" sslmode=") + mode.name;
            EXPECT_EQ(outcome_of(at("localhost", asked + trusted())), mode.without_tls)
                << mode.name;
        }
        return switch_tls("alter system reset ssl", "on");
    });
}

TEST_F(PostgresTls, DAT_3k_the_environment_weakens_no_mode) {
    setenv("PGSSLMODE", "disable", 1);
    run([&]() -> Result<void> {
        for (const Mode& mode : kModes) {
            std::string asked = std::string(" sslmode=") + mode.name;
            EXPECT_EQ(outcome_of(at("localhost", asked + trusted())), mode.with_tls) << mode.name;
            EXPECT_EQ(outcome_of(at("other.test", asked + trusted())), mode.other_host)
                << mode.name;
        }
        // It counts where the string says nothing.
        EXPECT_EQ(outcome_of(at("localhost", trusted())), Becomes::Plain);
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
