#include "weft/app/debug_client.h"

#include <utility>

namespace weft::app {
namespace {

Error crashed() { return Error(ErrorKind::OutOfMemory, "the heap is full"); }

}  // namespace

void DebugClient::take(std::string_view json) {
    nlohmann::json message = nlohmann::json::parse(json, nullptr, false);
    if (message.is_discarded()) return;
    if (message.value("method", "") == "Inspector.targetCrashed") {
        {
            std::lock_guard lock(lock_);
            has_crashed_ = true;
        }
        return end_all(crashed());
    }
    if (!message.contains("id")) return;
    std::shared_ptr<Pending> pending;
    {
        std::lock_guard lock(lock_);
        auto found = pending_.find(message["id"].get<int>());
        if (found == pending_.end()) return;
        pending = std::move(found->second);
        pending_.erase(found);
    }
    if (message.contains("result"))
        pending->answer = std::move(message["result"]);
    else
        pending->answer = Error(ErrorKind::Other, message["error"].value("message", "no answer"));
    pending->answered.set();
}

Result<nlohmann::json> DebugClient::call(std::string_view method, nlohmann::json parameters,
                                         Deadline deadline) {
    auto pending = std::make_shared<Pending>();
    int id = 0;
    {
        std::lock_guard lock(lock_);
        if (has_crashed_) return crashed();
        id = ++last_;
        pending_.emplace(id, pending);
    }
    nlohmann::json message = {{"id", id}, {"method", method}, {"params", std::move(parameters)}};
    target_->send(message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    Result<void> waited = pending->answered.wait_until(deadline);
    if (!waited) {
        std::lock_guard lock(lock_);
        pending_.erase(id);
        return waited.error();
    }
    return std::move(pending->answer);
}

void DebugClient::give_up() { end_all(Error(ErrorKind::Cancelled, "interrupted")); }

void DebugClient::end_all(const Error& reason) {
    std::map<int, std::shared_ptr<Pending>> all;
    {
        std::lock_guard lock(lock_);
        all.swap(pending_);
    }
    for (auto& [id, pending] : all) {
        pending->answer = reason;
        pending->answered.set();
    }
}

}  // namespace weft::app
