// FetchClient: what fetch() stands on: Weft's own client on the same worker, and the responses that
// scripts have in their hands.
//
// A response is known to script by a number, which is a ticket. Its connection is free again when
// its body was read to the end, and closed when it is dropped before: by the script, with the
// request that asked for it, or when nothing of the script can reach it any more.
//
// Owner's thread only: its loop and its fibers.
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

// A response, shared by its place in the table and the fiber that reads it.
struct Fetched {
    explicit Fetched(http::ClientResponse response_in) : response(std::move(response_in)) {}
    http::ClientResponse response;
    // The body of one that came at once, until somebody takes it; the response has none then.
    std::optional<std::string> whole;
    bool over = false;    // dropped while a fiber was reading
    bool of_app = false;  // no request's: it is dropped when the script has lost it
    double reading = 0;   // the task of the last read; 0: there was none
};

class FetchClient {
public:
    // The policy outlives the client.
    FetchClient(const net::EgressPolicy& egress, std::size_t whole_bytes_max);
    ~FetchClient();

    // It follows no redirects: what they change in a request is the script's business.
    http::Client& client() { return *client_; }
    // What the text says, or what is wrong with it. Most programs fetch from few places.
    http::RequestUrl parse(const std::string& text);
    Result<double> keep(std::shared_ptr<Fetched> fetched);
    std::shared_ptr<Fetched> find(double number);
    void drop(double number);

    // No request of a server asked for it. True: so many of these are unread that it is time to
    // look which of them the script has lost.
    bool give_to_app(double number);

    // The whole body. Limit if that and all the others that are being read are more than an isolate
    // may have; they are not in it yet.
    Result<std::string> read_whole(http::BodyReader& body);

    // The body of a request that a script writes piece by piece, by a number of the script's.
    std::shared_ptr<BodyQueue> open_upload(double number);
    std::shared_ptr<BodyQueue> find_upload(double number);
    void end_upload(double number) { uploads_.erase(number); }

    // By which task a fetch is under way; 0: none.
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
    static constexpr std::size_t kAppUnreadMin = 64;
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
    std::size_t app_unread_ = 0;  // in the table
    std::size_t app_given_ = 0;   // since somebody looked
    std::size_t whole_bytes_max_;
    std::size_t whole_bytes_ = 0;  // of bodies that are being read
};

}  // namespace weft::api
