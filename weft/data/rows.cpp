#include "weft/data/rows.h"

namespace weft::data {

const Value* Row::find(std::string_view name) const {
    const std::vector<Column>& all = columns();
    for (std::size_t at = all.size(); at > 0; --at) {
        if (all[at - 1].name == name) return &values_[at - 1];
    }
    return nullptr;
}

namespace {

// Shared by the results of all statements that return no rows, so that they allocate nothing.
const Columns& no_columns() {
    static const Columns none = std::make_shared<const std::vector<Column>>();
    return none;
}

}  // namespace

Rows::Rows(Columns columns) : columns_(columns ? std::move(columns) : no_columns()) {}

}  // namespace weft::data
