// The types of PostgreSQL that Weft knows, and how their values are decoded. Any thread.
//
// Rows are received in binary format if every column has a known type: it is exact, and independent
// of session settings (DateStyle, bytea_output, TimeZone). Otherwise they are received as text. A
// value of an unknown type is Text, as PostgreSQL writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/data/rows.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

// Type numbers of PostgreSQL's catalogue, which never change.
using Oid = unsigned int;
namespace oid {
inline constexpr Oid kNone = 0;
inline constexpr Oid kBool = 16;
inline constexpr Oid kBytea = 17;
inline constexpr Oid kChar = 18;
inline constexpr Oid kName = 19;
inline constexpr Oid kInt8 = 20;
inline constexpr Oid kInt2 = 21;
inline constexpr Oid kInt4 = 23;
inline constexpr Oid kText = 25;
inline constexpr Oid kOid = 26;
inline constexpr Oid kJson = 114;
inline constexpr Oid kXml = 142;
inline constexpr Oid kFloat4 = 700;
inline constexpr Oid kFloat8 = 701;
inline constexpr Oid kUnknown = 705;
inline constexpr Oid kBpchar = 1042;
inline constexpr Oid kVarchar = 1043;
inline constexpr Oid kDate = 1082;
inline constexpr Oid kTime = 1083;
inline constexpr Oid kTimestamp = 1114;
inline constexpr Oid kTimestampTz = 1184;
inline constexpr Oid kNumeric = 1700;
inline constexpr Oid kVoid = 2278;
inline constexpr Oid kUuid = 2950;
inline constexpr Oid kJsonb = 3802;
}  // namespace oid

// The wire formats of the protocol.
inline constexpr int kTextFormat = 0;
inline constexpr int kBinaryFormat = 1;
// PostgreSQL itself allows six dimensions.
inline constexpr int kArrayDimensionsMax = 6;

bool is_known(Oid type);
// The element type if this is an array of a known type, else kNone.
Oid element_of(Oid type);
// The type of an array of these elements; kNone if unknown.
Oid array_of(Oid element);
std::string_view type_name(Oid type);  // "int4"; empty if not known

// Decodes one value that is not null. Errors are of kind Other with SQLSTATE 08P01 (malformed) or
// 22021 (text that is not UTF-8); they do not show the value.
Result<Value> decode(Oid type, int format, std::string_view bytes);
// The same, and appends the value to the rows.
Result<void> append_decoded(Rows& rows, Oid type, int format, std::string_view bytes);

}  // namespace weft::data::postgres
