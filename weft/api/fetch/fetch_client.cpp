#include "weft/api/fetch/fetch_client.h"

#include <algorithm>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/js/tasks.h"
#include "weft/net/socket.h"

namespace weft::api {
namespace {

// Other clients refuse content that expands this much far sooner. A script that reads a fetch in
// pieces may want all of it, and one that reads it whole is limited by its heap.
constexpr std::uint64_t kRatioFromBytes = 256 * 1024 * 1024;

// Services that answer slowly receive many requests at once; but the process needs descriptors for
// other things too.
constexpr std::size_t kConnectionsMin = 256;
constexpr std::size_t kConnectionsMax = 4096;

constexpr std::size_t kGatherBytes = 16 * 1024;

http::ClientOptions client_options(const net::EgressPolicy& egress) {
    http::ClientOptions options;
    options.redirects = 0;
    options.limits.ratio_from_bytes = kRatioFromBytes;
    options.user_agent = "Weft";
    options.check_address = [&egress](std::string_view host, const net::Address& address) {
        return egress.check(host, address);
    };
    // A fetch has no time limit of its own: the deadline of its request and its signal end it. The
    // limit for the head frees the connection of a server that no longer answers.
    options.timeouts.total = std::chrono::hours(24 * 365);
    options.timeouts.queue = options.timeouts.total;
    options.timeouts.head = std::chrono::minutes(5);
    options.timeouts.idle = std::chrono::minutes(5);
    net::raise_descriptor_limit();
    options.limits.connections_per_origin =
        std::clamp(net::descriptor_limit() / 4, kConnectionsMin, kConnectionsMax);
    options.limits.waiting_per_origin = FetchClient::kFetchedMax;
    // All connections of an origin may be idle at once: a handler that fetches several things at
    // the same time returns all of them together, and none is closed then.
    options.limits.idle_per_origin = options.limits.connections_per_origin;
    return options;
}

}  // namespace

FetchClient::FetchClient(const net::EgressPolicy& egress, std::size_t whole_bytes_max)
    : client_(std::make_unique<http::Client>(client_options(egress))),
      whole_bytes_max_(whole_bytes_max) {}

FetchClient::~FetchClient() {
    WEFT_DASSERT(whole_bytes_ == 0, "the tasks that read bodies end before the client");
}

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
    auto taken = fetched_.take(js::TaskTable::to_ticket(number));
    if (!taken || !(*taken)->is_unowned) return;
    WEFT_ASSERT(unowned_unread_ > 0, "each unowned response in the table was counted");
    --unowned_unread_;
}

bool FetchClient::mark_unowned(double number) {
    std::shared_ptr<Fetched> fetched = find(number);
    if (!fetched) return false;
    WEFT_ASSERT(!fetched->is_unowned, "a response is marked once");
    fetched->is_unowned = true;
    ++unowned_unread_;
    ++unowned_marked_;
    // Responses that are still in use do not cause collections again and again.
    if (unowned_unread_ < kUnownedUnreadMin ||
        unowned_marked_ < std::max(kUnownedUnreadMin, unowned_unread_ / 2))
        return false;
    unowned_marked_ = 0;
    return true;
}

Result<std::string> FetchClient::read_whole(http::BodyReader& body) {
    struct Counted {
        std::size_t& total;
        std::size_t own = 0;
        ~Counted() {
            WEFT_ASSERT(total >= own, "the total contains the bytes of every body being read");
            total -= own;
        }
    };
    Counted counted{whole_bytes_};
    std::string text;
    for (;;) {
        std::size_t before = text.size();
        text.resize(before + kGatherBytes);
        std::size_t count =
            WEFT_TRY(body.read(std::as_writable_bytes(std::span(text).subspan(before))));
        WEFT_ASSERT(count <= kGatherBytes, "a read fills at most its buffer");
        text.resize(before + count);
        if (count == 0) return text;
        counted.own += count;
        whole_bytes_ += count;
        if (whole_bytes_ > whole_bytes_max_)
            return Error::limit("what is read of responses has more bytes than", whole_bytes_max_,
                                "limits.heapMiB");
    }
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
