#include "weft/http/wire/content_coding.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "weft/http/headers.h"
#include "weft/http/wire/list_field.h"

namespace weft::http::wire {
namespace {

constexpr std::array<std::pair<std::string_view, Coding>, 6> kNames = {{
    {"identity", Coding::Identity},
    {"gzip", Coding::Gzip},
    {"deflate", Coding::Deflate},
    {"br", Coding::Brotli},
    {"zstd", Coding::Zstd},
    {"x-gzip", Coding::Gzip},  // RFC 9110 §8.4.1.3
}};

// RFC 9110 §12.4.2, in thousandths. Nothing for what is no weight.
std::optional<int> parse_weight(std::string_view text) {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return {};
    if (text.size() > 1 && text[1] != '.') return {};
    int weight = (text[0] - '0') * 1000;
    int place = 100;
    for (char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (digit < '0' || digit > '9') return {};
        weight += (digit - '0') * place;
        place /= 10;
    }
    if (weight > 1000) return {};
    return weight;
}

std::optional<int> weight_of(const ListMember& member) {
    if (member.parameters.empty()) return 1000;
    const ListParameter& parameter = member.parameters.front();
    if (member.parameters.size() > 1 || !equal_without_case(parameter.name, "q")) return {};
    if (!parameter.value) return {};
    return parse_weight(*parameter.value);
}

// The weight that a client gave to each coding; where it gave several, the first.
struct Weights {
    std::array<std::optional<int>, 5> listed;
    std::optional<int> others;

    int of(Coding coding) const {
        if (std::optional<int> own = listed[static_cast<std::size_t>(coding)]) return *own;
        // What is not listed is refused; identity only if the client says so.
        return others.value_or(coding == Coding::Identity ? 1 : 0);
    }
};

std::optional<Weights> parse_weights(std::string_view field) {
    std::optional<std::vector<ListMember>> members = parse_list_field(field);
    if (!members) return {};
    Weights weights;
    for (const ListMember& member : *members) {
        std::optional<int> weight = weight_of(member);
        if (!weight) return {};
        std::optional<Coding> coding = parse_coding(member.name);
        if (!coding && member.name != "*") continue;
        std::optional<int>& place =
            coding ? weights.listed[static_cast<std::size_t>(*coding)] : weights.others;
        if (!place) place = weight;
    }
    return weights;
}

}  // namespace

std::string_view to_string(Coding coding) { return kNames[static_cast<std::size_t>(coding)].first; }

std::optional<Coding> parse_coding(std::string_view name) {
    for (const auto& [known, coding] : kNames) {
        if (equal_without_case(name, known)) return coding;
    }
    return {};
}

Result<Coding> parse_content_encoding(std::string_view field) {
    std::optional<std::vector<ListMember>> members = parse_list_field(field);
    if (!members) return Error(ErrorKind::Other, "the Content-Encoding field is malformed");
    Coding sum = Coding::Identity;
    for (const ListMember& member : *members) {
        std::optional<Coding> coding = parse_coding(member.name);
        if (!coding || !member.parameters.empty()) {
            return Error(ErrorKind::Unavailable,
                         "the content coding '" + std::string(member.name) + "' is not known");
        }
        if (*coding == Coding::Identity) continue;
        if (sum != Coding::Identity) {
            return Error::limit("the content has more codings than", 1, "one is decoded");
        }
        sum = *coding;
    }
    return sum;
}

std::optional<Coding> choose_coding(std::string_view accept_encoding,
                                    std::span<const Coding> offered) {
    std::optional<Weights> weights = parse_weights(accept_encoding);
    if (!weights) return Coding::Identity;
    std::optional<Coding> best;
    for (Coding coding : offered) {
        if (coding == Coding::Identity || weights->of(coding) == 0) continue;
        if (!best || weights->of(coding) > weights->of(*best)) best = coding;
    }
    int identity = weights->of(Coding::Identity);
    if (identity != 0 && (!best || identity > weights->of(*best))) best = Coding::Identity;
    return best;
}

}  // namespace weft::http::wire
