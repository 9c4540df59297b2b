#include "weft/data/rows.h"

namespace weft::data {

const Value* Row::find(std::string_view name) const {
    const std::vector<Column>& all = columns();
    for (std::size_t at = all.size(); at > 0; --at) {
        if (all[at - 1].name == name) return &values_[at - 1];
    }
    return nullptr;
}

const Columns& Rows::no_columns() {
    static const Columns none = std::make_shared<const std::vector<Column>>();
    return none;
}

}  // namespace weft::data
