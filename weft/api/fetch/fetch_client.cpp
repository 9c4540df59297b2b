#include "weft/api/fetch/fetch_client.h"

#include <utility>

#include "weft/js/tasks.h"

namespace weft::api {
namespace {

// Content that a few bytes stand for is refused by other clients much sooner. Who reads a fetch
// piece by piece may want all of it, and one who reads it whole has the limit of its heap.
constexpr std::uint64_t kRatioFromBytes = 256 * 1024 * 1024;

http::ClientOptions client_options(const net::EgressPolicy& egress) {
    http::ClientOptions options;
    options.redirects = 0;
    options.limits.ratio_from_bytes = kRatioFromBytes;
    options.user_agent = "Weft";
    options.check_address = [&egress](std::string_view host, const net::Address& address) {
        return egress.check(host, address);
    };
    // A fetch has no time of its own: its request's deadline and its signal end it. A server that
    // has fallen silent does not keep a connection for ever.
    options.timeouts.total = std::chrono::hours(24 * 365);
    options.timeouts.head = std::chrono::minutes(5);
    options.timeouts.idle = std::chrono::minutes(5);
    // A handler that fetches several things at once has them all back at once: none is closed then.
    options.limits.idle_per_origin = options.limits.connections_per_origin;
    return options;
}

}  // namespace

FetchClient::FetchClient(const net::EgressPolicy& egress)
    : client_(std::make_unique<http::Client>(client_options(egress))) {}

FetchClient::~FetchClient() = default;

http::RequestUrl FetchClient::parse(const std::string& text) {
    for (const Parsed& known : parsed_)
        if (known.text == text && !text.empty()) return known.url;
    Parsed& place = parsed_[next_parsed_++ % kParsedMax];
    place = {text, http::RequestUrl(text)};
    return place.url;
}

Result<double> FetchClient::keep(std::shared_ptr<Fetched> fetched) {
    return js::TaskTable::to_number(WEFT_TRY(fetched_.insert(std::move(fetched))));
}

std::shared_ptr<Fetched> FetchClient::find(double number) {
    std::shared_ptr<Fetched>* found = fetched_.find(js::TaskTable::to_ticket(number));
    return found ? *found : nullptr;
}

void FetchClient::drop(double number) {
    if (auto taken = fetched_.take(js::TaskTable::to_ticket(number))) (*taken)->over = true;
}

std::shared_ptr<BodyQueue> FetchClient::open_upload(double number) {
    return uploads_[number] = std::make_shared<BodyQueue>();
}

std::shared_ptr<BodyQueue> FetchClient::find_upload(double number) {
    auto found = uploads_.find(number);
    return found == uploads_.end() ? nullptr : found->second;
}

void FetchClient::close() {
    std::vector<double> open;
    fetched_.for_each([&](Ticket ticket, std::shared_ptr<Fetched>&) {
        open.push_back(js::TaskTable::to_number(ticket));
    });
    for (double number : open) drop(number);
    for (auto& [number, queue] : std::exchange(uploads_, {}))
        queue->fail(Error(ErrorKind::Closed, "the application ends"));
}

}  // namespace weft::api
