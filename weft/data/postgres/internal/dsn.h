// Parses connection strings of libpq, so that Weft resolves the names, which libpq would do
// blocking, and tries each host separately. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/internal/link.h"
#include "weft/net/address.h"

namespace weft::data::postgres {

inline constexpr std::size_t kHostsMax = 64;

// One place where the database may be.
struct Host {
    std::string host;     // a name, an address or the directory of a Unix socket; may be empty
    std::string address;  // hostaddr, if given beside the name
    std::string port;     // as given; may be empty

    bool is_unix() const { return host.starts_with('/') || host.starts_with('@'); }
};

enum class TlsMode : std::uint8_t { Disable, Allow, Prefer, Require, VerifyCa, VerifyFull };

struct Dsn {
    // Parses a URL or keywords, as libpq does; missing settings are taken from the environment
    // (PGHOST, PGUSER, PGPASSWORD, ...). Errors show nothing of the string.
    static Result<Dsn> parse(const std::string& text);

    // The settings for one address of one host.
    std::vector<Setting> settings_for(const Host& host, const std::string& address,
                                      std::string_view session_attributes) const;
    const std::string* find(std::string_view keyword) const;

    std::vector<Host> hosts;         // at least one
    bool may_show_hosts = true;      // false: a part of a password may have been parsed as a host
    std::vector<Setting> common;     // all settings but hosts, ports and those below
    std::string session_attributes;  // target_session_attrs; empty: any
    TlsMode tls_mode = TlsMode::Prefer;
    std::optional<Nanoseconds> connect_timeout;  // of each address
};

}  // namespace weft::data::postgres
