// Owning wrappers of ODBC handles.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <utility>

#include "weft/base/assert.h"

namespace weft::data::odbc {

template <SQLSMALLINT kKind>
class Handle {
public:
    Handle() = default;
    Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Handle() {
        if (raw_) SQLFreeHandle(kKind, raw_);
    }

    // The parent of an environment is null.
    bool allocate(SQLHANDLE parent) {
        WEFT_ASSERT(!raw_, "the old handle would leak");
        return SQL_SUCCEEDED(SQLAllocHandle(kKind, parent, &raw_));
    }
    SQLHANDLE get() const { return raw_; }
    explicit operator bool() const { return raw_ != nullptr; }

private:
    SQLHANDLE raw_ = nullptr;
};

using Environment = Handle<SQL_HANDLE_ENV>;
using Link = Handle<SQL_HANDLE_DBC>;
using StatementHandle = Handle<SQL_HANDLE_STMT>;

}  // namespace weft::data::odbc
