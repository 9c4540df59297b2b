#include "weft/data/postgres/internal/dsn.h"

#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "weft/base/assert.h"

namespace weft::data::postgres {
namespace {

struct OptionsDeleter {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, OptionsDeleter>;

struct ErrorTextDeleter {
    void operator()(char* text) const { PQfreemem(text); }
};

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (;;) {
        std::size_t comma = list.find(',', begin);
        parts.push_back(list.substr(begin, comma - begin));
        if (comma == std::string::npos) return parts;
        begin = comma + 1;
    }
}

Error refused(std::string_view why) {
    return {ErrorKind::Misuse, std::string("postgres: connection string: ").append(why)};
}

Result<TlsMode> parse_tls_mode(std::string_view text) {
    constexpr std::array<std::string_view, 6> kNames = {"disable", "allow",     "prefer",
                                                        "require", "verify-ca", "verify-full"};
    for (std::size_t at = 0; at < kNames.size(); ++at) {
        if (kNames[at] == text) return static_cast<TlsMode>(at);
    }
    return refused("no such sslmode");
}

// One entry per host; a single port applies to all of them.
Result<std::vector<Host>> hosts_of(const std::string& names, const std::string& addresses,
                                   const std::string& ports) {
    std::vector<std::string> host_list = split(names);
    std::vector<std::string> address_list = split(addresses);
    std::vector<std::string> port_list = split(ports);
    std::size_t count = addresses.empty() ? host_list.size() : address_list.size();
    if (count > kHostsMax) return refused("too many hosts");
    bool even = (names.empty() || host_list.size() == count) &&
                (port_list.size() == 1 || port_list.size() == count);
    if (!even) return refused("host, hostaddr and port are of different lengths");
    std::vector<Host> hosts;
    for (std::size_t at = 0; at < count; ++at) {
        WEFT_ASSERT(names.empty() || at < host_list.size(), "the lists have equal lengths");
        hosts.push_back({.host = names.empty() ? "" : host_list[at],
                         .address = addresses.empty() ? "" : address_list[at],
                         .port = port_list.size() == 1 ? port_list[0] : port_list[at]});
    }
    return hosts;
}

// The settings of the string; for those it lacks, of the environment.
Result<std::vector<Setting>> all_settings(const std::string& text) {
    char* message = nullptr;
    Options options(PQconninfoParse(text.c_str(), &message));
    // Never shown, because it may quote a part of the string.
    std::unique_ptr<char, ErrorTextDeleter> unshown(message);
    if (!options) return refused("it cannot be read");
    Options defaults(PQconndefaults());
    if (!defaults) return refused("the environment's service file cannot be read");
    std::vector<Setting> settings;
    const PQconninfoOption* fallback = defaults.get();
    for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
        while (fallback->keyword && std::string_view(fallback->keyword) != option->keyword)
            ++fallback;
        const char* value = option->val;
        if (!value && fallback->keyword) value = fallback->val;
        if (value) settings.push_back({option->keyword, value});
    }
    return settings;
}

// A URL with several "@", or with one after the host: it may belong to a password, where it must be
// written as %40.
bool has_doubtful_host(std::string_view text) {
    std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) return false;
    std::string_view rest = text.substr(scheme + 3);
    std::size_t last = rest.rfind('@');
    if (last == std::string_view::npos) return false;
    return rest.find('@') != last || rest.find_first_of("/?#") < last;
}

std::string take(std::vector<Setting>& settings, std::string_view keyword) {
    for (auto at = settings.begin(); at != settings.end(); ++at) {
        if (at->keyword != keyword) continue;
        std::string value = std::move(at->value);
        settings.erase(at);
        return value;
    }
    return {};
}

}  // namespace

Result<Dsn> Dsn::parse(const std::string& text) {
    if (text.find('\0') != std::string::npos) return refused("it has a NUL");
    Dsn dsn;
    dsn.common = WEFT_TRY(all_settings(text));
    dsn.may_show_hosts = !has_doubtful_host(text);
    // libpq would resolve the hosts of a service file.
    if (!take(dsn.common, "service").empty()) return refused("service files are not supported");
    std::string names = take(dsn.common, "host");
    std::string addresses = take(dsn.common, "hostaddr");
    std::string ports = take(dsn.common, "port");
    dsn.hosts = WEFT_TRY(hosts_of(names, addresses, ports));
    WEFT_ASSERT(!dsn.hosts.empty() && dsn.hosts.size() <= kHostsMax, "the hosts are bounded");
    dsn.session_attributes = take(dsn.common, "target_session_attrs");
    std::string timeout = take(dsn.common, "connect_timeout");
    int seconds = 0;
    std::from_chars(timeout.data(), timeout.data() + timeout.size(), seconds);
    if (seconds > 0) dsn.connect_timeout = std::chrono::seconds(seconds);
    // libpq blocks while Kerberos contacts its own servers.
    if (take(dsn.common, "gssencmode") == "require")
        return refused("gssencmode=require is not supported");
    dsn.common.push_back({"gssencmode", "disable"});
    static_cast<void>(take(dsn.common, "client_encoding"));
    dsn.common.push_back({"client_encoding", "UTF8"});
    if (const std::string* mode = dsn.find("sslmode"))
        dsn.tls_mode = WEFT_TRY(parse_tls_mode(*mode));
    if (!dsn.find("fallback_application_name"))
        dsn.common.push_back({"fallback_application_name", "weft"});
    return dsn;
}

const std::string* Dsn::find(std::string_view keyword) const {
    for (const Setting& setting : common) {
        if (setting.keyword == keyword) return &setting.value;
    }
    return nullptr;
}

std::vector<Setting> Dsn::settings_for(const Host& host, const std::string& address,
                                       std::string_view attributes) const {
    std::vector<Setting> settings = common;
    if (!host.host.empty()) settings.push_back({"host", host.host});
    if (!address.empty()) settings.push_back({"hostaddr", address});
    if (!host.port.empty()) settings.push_back({"port", host.port});
    if (!attributes.empty()) settings.push_back({"target_session_attrs", std::string(attributes)});
    return settings;
}

}  // namespace weft::data::postgres
