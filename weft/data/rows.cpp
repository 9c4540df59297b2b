#include "weft/data/rows.h"

namespace weft::data {

const Value* Row::find(std::string_view name) const {
    const std::vector<Column>& all = columns();
    for (std::size_t at = all.size(); at > 0; --at) {
        if (all[at - 1].name == name) return &values_[at - 1];
    }
    return nullptr;
}

Rows::Rows(Columns columns) : columns_(std::move(columns)) {
    if (!columns_) columns_ = std::make_shared<const std::vector<Column>>();
}

}  // namespace weft::data
