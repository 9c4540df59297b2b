#include "weft/app/debug_outbox.h"

#include <utility>

namespace weft::app {

void DebugOutbox::add(std::string_view json) {
    {
        std::lock_guard lock(lock_);
        if (ended_) return;
        bytes_ += json.size();
        if (bytes_ > kBytesMax) {
            ended_ = true;
            texts_.clear();
        } else {
            texts_.emplace_back(json);
        }
    }
    came_.set();
}

void DebugOutbox::end() {
    {
        std::lock_guard lock(lock_);
        ended_ = true;
    }
    came_.set();
}

std::optional<std::string> DebugOutbox::next() {
    while (true) {
        {
            std::lock_guard lock(lock_);
            if (!texts_.empty()) {
                std::string text = std::move(texts_.front());
                texts_.pop_front();
                bytes_ -= text.size();
                return text;
            }
            if (ended_) return std::nullopt;
            came_.reset();
        }
        if (!came_.wait()) return std::nullopt;
    }
}

}  // namespace weft::app
