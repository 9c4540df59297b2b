// FetchClient: Weft's HTTP client as fetch() uses it, and the responses that scripts hold.
//
// A script knows a response by a number, which is a ticket. The connection of a response returns to
// the pool when the body was read to the end. It is closed when the response is dropped before
// that: by the script, at the end of the request that asked for it, or when no script can reach it
// any more.
//
// Owning worker only: its loop and its fibers.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "weft/api/serve/body_queue.h"
#include "weft/base/result.h"
#include "weft/base/ticket.h"
#include "weft/http/client/client.h"
#include "weft/net/egress.h"

namespace weft::api {

// A response. Its owners are the table and the fiber that reads it.
struct Fetched {
    explicit Fetched(http::ClientResponse response_in) : response(std::move(response_in)) {}
    http::ClientResponse response;
    // The whole body if it came at once and nobody has taken it yet; `response` has no body then.
    std::optional<std::string> whole;
    bool is_unowned = false;  // belongs to no request; dropped when the script has lost it
    double reading = 0;       // the task of the last read, 0 before the first
};

class FetchClient {
public:
    // The policy must outlive the client.
    FetchClient(const net::EgressPolicy& egress, std::size_t whole_bytes_max);
    ~FetchClient();

    // It does not follow redirects: the script decides how a redirect changes the request.
    http::Client& client() { return *client_; }
    // Parses a URL, with a small cache because most programs fetch from few places. The result says
    // what is wrong with a bad URL.
    http::RequestUrl parse(const std::string& text);
    Result<double> keep(std::shared_ptr<Fetched> fetched);
    std::shared_ptr<Fetched> find(double number);
    void drop(double number);

    // Marks a response that no server's request asked for. Returns true if so many of these are
    // unread that a garbage collection should find those that the script has lost.
    bool mark_unowned(double number);

    // Reads the whole body. Limit if it would exceed, together with the other bodies being read,
    // what an isolate may hold: these bytes are not in its heap yet.
    Result<std::string> read_whole(http::BodyReader& body);

    // The body of a request that a script writes in pieces. The script chooses the number.
    std::shared_ptr<BodyQueue> open_upload(double number);
    std::shared_ptr<BodyQueue> find_upload(double number);
    void end_upload(double number) { uploads_.erase(number); }

    // The task that performs a fetch; 0 if there is none.
    void remember_task(double fetch, double task) { tasks_[fetch] = task; }
    void forget_task(double fetch) { tasks_.erase(fetch); }
    double task_of(double fetch) const {
        auto found = tasks_.find(fetch);
        return found == tasks_.end() ? 0 : found->second;
    }

    void close();

    static constexpr std::size_t kFetchedMax = 64 * 1024;

private:
    static constexpr std::size_t kParsedMax = 8;
    static constexpr std::size_t kUnownedUnreadMin = 64;
    struct Parsed {
        std::string text;
        http::RequestUrl url;
    };

    std::unique_ptr<http::Client> client_;
    TicketTable<std::shared_ptr<Fetched>> fetched_{kFetchedMax};
    std::unordered_map<double, std::shared_ptr<BodyQueue>> uploads_;
    std::unordered_map<double, double> tasks_;
    std::array<Parsed, kParsedMax> parsed_;
    std::size_t next_parsed_ = 0;
    std::size_t unowned_unread_ = 0;  // in the table
    std::size_t unowned_marked_ = 0;  // marked since the last garbage collection
    std::size_t whole_bytes_max_;
    std::size_t whole_bytes_ = 0;  // of bodies that are being read
};

}  // namespace weft::api
