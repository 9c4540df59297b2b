#include "weft/app/certificates.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "weft/app/terminal.h"
#include "weft/async/group.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

constexpr Nanoseconds kQuiet = std::chrono::milliseconds(50);
constexpr Nanoseconds kQuietWaitMax = std::chrono::seconds(1);

std::vector<SeenFile> seen_files(const TlsFiles& files) {
    return {see_file(files.certificate), see_file(files.key)};
}

}  // namespace

Result<std::shared_ptr<net::tls::ServerContext>> Certificates::open(const TlsFiles& files) {
    if (!signals_) signals_ = WEFT_TRY(SignalWatch::open({SIGHUP}));
    net::tls::ServerConfig config;
    config.identities.push_back(
        {.certificate = {.file = files.certificate}, .key = {.file = files.key}});
    if (!files.client_ca.empty()) {
        config.client_certificates = net::tls::ClientCertificates::Required;
        config.client_authorities = {.file = files.client_ca};
    }
    // The status is taken before the files are read, so that a change during the read is noticed.
    std::vector<SeenFile> seen = seen_files(files);
    auto context = std::make_shared<net::tls::ServerContext>(
        WEFT_TRY(net::tls::ServerContext::create(std::move(config))));
    shown_.push_back({files, std::move(seen), context});
    return context;
}

bool Certificates::are_for(std::string_view server_name, std::string_view host) const {
    return std::ranges::any_of(
        shown_, [&](const Shown& shown) { return shown.context->covers(server_name, host); });
}

Result<void> Certificates::watch() {
    Result<FolderWatch> folders = FolderWatch::open();
    for (const Shown& shown : shown_) {
        for (const std::string& path : {shown.files.certificate, shown.files.key}) {
            if (!folders) break;
            Result<void> added = folders->add(std::filesystem::path(path).parent_path().string());
            if (!added) folders = added.error();
        }
    }
    if (!folders)
        complain(
            format("{}: certificates are read anew on SIGHUP only", folders.error().message()));
    async::Group watchers;  // ends with this block
    WEFT_TRY(watchers.go([&]() -> Result<void> {
        for (;;) {
            WEFT_TRY(signals_->wait());
            // Relaxed, here and below: the event orders the store before the exchange.
            reload_requested_.store(true, std::memory_order_relaxed);
            changed_.set();
        }
    }));
    if (folders) {
        WEFT_TRY(watchers.go([&]() -> Result<void> {
            for (;;) {
                WEFT_TRY(folders->wait());
                changed_.set();
            }
        }));
    }
    // The files may have changed before the folders were watched.
    changed_.set();
    for (;;) {
        WEFT_TRY(changed_.wait());
        WEFT_TRY(wait_until_quiet());
        bool all = reload_requested_.exchange(false, std::memory_order_relaxed);
        for (Shown& shown : shown_)
            if (all || !std::ranges::all_of(shown.seen, &SeenFile::is_current)) reload(shown);
    }
}

Result<void> Certificates::wait_until_quiet() {
    Deadline end = Deadline::after(kQuietWaitMax);
    while (!end.expired(Clock::now())) {
        changed_.reset();
        Result<void> waited = changed_.wait_for(kQuiet);
        if (waited) continue;
        return waited.error().kind() == ErrorKind::TimedOut ? Result<void>() : waited;
    }
    changed_.reset();
    return {};
}

void Certificates::reload(Shown& shown) {
    shown.seen = seen_files(shown.files);
    Result<void> reloaded = shown.context->reload();
    if (reloaded)
        write_line(Stream::Out, format("weft shows {} anew", shown.files.certificate));
    else
        complain(format("the certificate stays as it was: {}", reloaded.error().message()));
}

}  // namespace weft::app
