#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/result.h"

namespace weft {

// Names one use of one slot of a TicketTable. An operation that may outlive its caller holds a
// ticket instead of a pointer: the ticket of an item that has ended finds nothing. A value; any
// thread.
struct Ticket {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // 0 is in no table: a default Ticket finds nothing

    constexpr bool is_none() const noexcept { return generation == 0; }

    constexpr std::uint64_t as_u64() const noexcept {
        return std::uint64_t{generation} << 32 | index;
    }
    static constexpr Ticket from_u64(std::uint64_t word) noexcept {
        return Ticket{static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    }

    friend constexpr auto operator<=>(const Ticket&, const Ticket&) noexcept = default;
};

// Items found by ticket. Not synchronised: it belongs to one owner, or one lock guards every call
// and every use of the pointers it gives. A pointer is valid until its item is taken. Slots are
// reused for later items, and their memory is freed only when the table is destroyed.
// A slot whose generations are used up is retired, so that no ticket ever names two items.
template <class T, std::uint32_t GenerationMax = std::numeric_limits<std::uint32_t>::max()>
class TicketTable {
public:
    // At most `capacity` items at a time.
    explicit TicketTable(std::size_t capacity) noexcept : capacity_(capacity) {}
    TicketTable(const TicketTable&) = delete;
    TicketTable& operator=(const TicketTable&) = delete;

    // Limit when full; OutOfMemory when the table cannot grow.
    Result<Ticket> insert(T item);

    T* find(Ticket ticket) noexcept;                // null when stale
    std::optional<T> take(Ticket ticket) noexcept;  // empty when stale; later calls find nothing

    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return capacity_; }

    // Calls visit(Ticket, T&) for every item, which must not insert or take meanwhile.
    template <class Visit>
    void for_each(Visit visit);

private:
    static constexpr std::size_t kChunkSlots = 64;
    static constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

    struct Slot {
        std::optional<T> item;
        std::uint32_t generation = 0;  // of the item, or of the last one when there is none
        std::uint32_t next_free = kNoSlot;
    };

    Slot& slot_at(std::uint32_t index) noexcept {
        return chunks_[index / kChunkSlots][index % kChunkSlots];
    }
    Slot* live_slot(Ticket ticket) noexcept;
    Result<std::uint32_t> free_slot();

    std::vector<std::unique_ptr<Slot[]>> chunks_;
    std::uint32_t slots_used_ = 0;
    std::uint32_t first_free_ = kNoSlot;
    std::size_t size_ = 0;
    std::size_t capacity_;
};

template <class T, std::uint32_t GenerationMax>
Result<Ticket> TicketTable<T, GenerationMax>::insert(T item) {
    if (size_ >= capacity_)
        return Error::limit("there are more items than", capacity_, "TicketTable::capacity()");
    std::uint32_t index = WEFT_TRY(free_slot());
    Slot& slot = slot_at(index);
    slot.item.emplace(std::move(item));
    slot.generation++;
    size_++;
    return Ticket{index, slot.generation};
}

template <class T, std::uint32_t GenerationMax>
T* TicketTable<T, GenerationMax>::find(Ticket ticket) noexcept {
    Slot* slot = live_slot(ticket);
    return slot != nullptr ? &*slot->item : nullptr;
}

template <class T, std::uint32_t GenerationMax>
std::optional<T> TicketTable<T, GenerationMax>::take(Ticket ticket) noexcept {
    std::optional<T> item;
    Slot* slot = live_slot(ticket);
    if (slot == nullptr) return item;
    item.swap(slot->item);
    size_--;
    if (slot->generation != GenerationMax) {
        slot->next_free = first_free_;
        first_free_ = ticket.index;
    }
    return item;
}

template <class T, std::uint32_t GenerationMax>
template <class Visit>
void TicketTable<T, GenerationMax>::for_each(Visit visit) {
    for (std::uint32_t index = 0; index < slots_used_; ++index) {
        Slot& slot = slot_at(index);
        if (slot.item) visit(Ticket{index, slot.generation}, *slot.item);
    }
}

template <class T, std::uint32_t GenerationMax>
auto TicketTable<T, GenerationMax>::live_slot(Ticket ticket) noexcept -> Slot* {
    if (ticket.index >= slots_used_) return nullptr;
    Slot& slot = slot_at(ticket.index);
    return slot.generation == ticket.generation && slot.item ? &slot : nullptr;
}

template <class T, std::uint32_t GenerationMax>
Result<std::uint32_t> TicketTable<T, GenerationMax>::free_slot() {
    if (first_free_ != kNoSlot) {
        return std::exchange(first_free_, slot_at(first_free_).next_free);
    }
    if (slots_used_ == kNoSlot)
        return Error::limit("tickets were used up: there are no more than", kNoSlot,
                            "TicketTable::kNoSlot");
    if (slots_used_ == chunks_.size() * kChunkSlots) {
        try {
            chunks_.push_back(std::make_unique<Slot[]>(kChunkSlots));
        } catch (const std::bad_alloc&) {
            return ErrorKind::OutOfMemory;
        }
    }
    return slots_used_++;
}

}  // namespace weft
