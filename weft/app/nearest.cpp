#include "weft/app/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::app {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t at = 0; at <= b.size(); ++at) row[at] = at;
    for (char c : a) {
        std::size_t corner = row[0]++;
        for (std::size_t at = 0; at < b.size(); ++at) {
            std::size_t changed = corner + (lower(c) == lower(b[at]) ? 0 : 1);
            corner = row[at + 1];
            row[at + 1] = std::min({changed, row[at] + 1, row[at + 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view written, std::span<const std::string_view> words) {
    constexpr std::size_t kLettersADifference = 3;
    constexpr std::size_t kWordMax = 64;
    if (written.size() > kWordMax) return {};
    std::size_t least = written.size() / kLettersADifference + 1;
    std::string_view found;
    for (std::string_view word : words) {
        std::size_t differences = distance(written, word);
        if (differences > least || (differences == least && !found.empty())) continue;
        least = differences;
        found = word;
    }
    return found;
}

}  // namespace weft::app
