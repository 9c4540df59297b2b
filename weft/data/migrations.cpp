#include "weft/data/migrations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "weft/base/assert.h"

namespace weft::data {
namespace {

using Applied = std::map<std::string, std::string, std::less<>>;  // hash by name

// Stands in place of the hash until the migration has finished.
constexpr std::string_view kUnfinished = "unfinished";

// What is recorded. An error where the table does not exist yet.
template <class Owner>
Result<Applied> read_applied(Owner& owner) {
    QueryOptions all;
    all.rows_max = kRowsUnlimited;
    Rows rows = WEFT_TRY(owner.query("select name, hash from weft_migrations", all));
    Applied applied;
    for (Row row : rows) {
        std::string name = WEFT_TRY(row.get<std::string>(0));
        applied.emplace(std::move(name), WEFT_TRY(row.get<std::string>(1)));
    }
    return applied;
}

// Uses only what all databases support: MariaDB has no keys of unbounded length, and SQL Server has
// neither "if not exists" nor a timestamp type that holds a time.
Result<void> make_table(Database& database) {
    if (read_applied(database)) return {};
    Result<Outcome> made = database.exec(
        "create table weft_migrations (name varchar(255) not null primary key,"
        " hash varchar(64) not null,"
        " applied_at varchar(64) not null default (current_timestamp))");
    // Another process may have created the table meanwhile.
    if (!made && !read_applied(database)) return made.error();
    return {};
}

Result<std::vector<const Migration*>> sorted_by_name(std::span<const Migration> migrations) {
    std::vector<const Migration*> sorted;
    for (const Migration& migration : migrations) sorted.push_back(&migration);
    std::ranges::sort(sorted, {}, [](const Migration* one) { return std::string_view(one->name); });
    for (std::size_t at = 0; at < sorted.size(); ++at) {
        bool is_twice = at > 0 && sorted[at - 1]->name == sorted[at]->name;
        if (sorted[at]->name.empty() || is_twice)
            return Error(ErrorKind::Misuse, "each migration has a name of its own");
    }
    return sorted;
}

std::vector<MigrationStatus> compare(const std::vector<const Migration*>& migrations,
                                     Applied applied) {
    std::vector<MigrationStatus> all;
    for (const Migration* migration : migrations) {
        auto found = applied.find(migration->name);
        MigrationState state = MigrationState::Pending;
        if (found != applied.end()) {
            bool is_same = found->second == migration_hash(migration->text);
            state = is_same ? MigrationState::Applied : MigrationState::Changed;
            if (found->second == kUnfinished) state = MigrationState::Unfinished;
            applied.erase(found);
        }
        all.push_back({migration->name, state});
    }
    for (const auto& [name, hash] : applied) all.push_back({name, MigrationState::Missing});
    WEFT_ASSERT(all.size() == migrations.size() + applied.size(), "one status per migration");
    std::ranges::sort(all, {}, &MigrationStatus::name);
    return all;
}

// Why this state prevents migrating; empty if it does not.
std::string_view reason_to_refuse(MigrationState state) {
    switch (state) {
    case MigrationState::Changed: return "its file was changed after it was applied";
    case MigrationState::Missing: return "its file is gone, and it was applied";
    case MigrationState::Unfinished:
        return "it is being applied by another, or was not finished: then put the schema in order,"
               " and delete its row of weft_migrations";
    default: return {};
    }
}

// True if it was applied, false if it was not begun, an error if it is unfinished.
Result<bool> is_finished(const Applied& applied, std::string_view name) {
    auto found = applied.find(name);
    if (found == applied.end()) return false;
    if (found->second != kUnfinished) return true;
    return Error(ErrorKind::Misuse, std::string(reason_to_refuse(MigrationState::Unfinished)));
}

// True if it was this call that has applied it.
Result<bool> apply(Database& database, const Migration& migration) {
    bool is_recorded = false;
    Result<bool> applied_here = database.transaction([&](Transaction& tx) -> Result<bool> {
        // The note is written first: of two who apply it at once the second waits for the first, or
        // sees what it has noted.
        Applied applied = WEFT_TRY(read_applied(tx));
        bool is_done = WEFT_TRY(is_finished(applied, migration.name));
        if (is_done) return false;
        WEFT_TRY(tx.exec(sql("insert into weft_migrations (name, hash) values ({}, {})",
                             migration.name, std::string(kUnfinished))));
        is_recorded = true;
        WEFT_TRY(tx.run_script(migration.text));
        WEFT_TRY(tx.exec(sql("update weft_migrations set hash = {} where name = {}",
                             migration_hash(migration.text), migration.name)));
        return true;
    });
    WEFT_ASSERT(!applied_here || !*applied_here || is_recorded, "what was applied is recorded");
    if (applied_here || is_recorded) return applied_here;
    // The insert failed: perhaps another process has recorded the migration. Its transaction has
    // ended by now, because the insert waited for it, unless the database commits the record alone.
    Result<Applied> applied = read_applied(database);
    if (!applied || !applied->contains(migration.name)) return applied_here;
    WEFT_TRY(is_finished(*applied, migration.name));
    return false;
}

}  // namespace

std::string migration_hash(std::string_view text) {
    // FNV-1a: it detects changed files; it is no protection against forgery.
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (char c : text) {
        if (c == '\r') continue;
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    std::string digits(16, '0');
    for (std::size_t at = digits.size(); at > 0; --at, hash >>= 4)
        digits[at - 1] = kDigits[hash & 15];
    return digits;
}

std::string_view to_string(MigrationState state) noexcept {
    switch (state) {
    case MigrationState::Applied: return "applied";
    case MigrationState::Pending: return "pending";
    case MigrationState::Changed: return "changed";
    case MigrationState::Missing: return "missing";
    case MigrationState::Unfinished: return "unfinished";
    }
    return "?";
}

Result<std::vector<MigrationStatus>> migration_status(Database& database,
                                                      std::span<const Migration> migrations) {
    std::vector<const Migration*> sorted = WEFT_TRY(sorted_by_name(migrations));
    Result<Applied> applied = read_applied(database);
    // Before the first migration the table does not exist.
    if (!applied && cause_of(applied.error()) != Cause::Syntax) return applied.error();
    return compare(sorted, applied ? std::move(*applied) : Applied());
}

Result<std::vector<std::string>> migrate_up(Database& database,
                                            std::span<const Migration> migrations) {
    std::vector<const Migration*> sorted = WEFT_TRY(sorted_by_name(migrations));
    WEFT_TRY(make_table(database));
    Applied applied = WEFT_TRY(read_applied(database));
    std::vector<MigrationStatus> status = compare(sorted, applied);
    for (const MigrationStatus& one : status) {
        std::string_view reason = reason_to_refuse(one.state);
        if (reason.empty()) continue;
        return Error(ErrorKind::Misuse, "migration " + one.name + ": " + std::string(reason));
    }
    std::vector<std::string> done;
    for (const Migration* migration : sorted) {
        if (applied.contains(migration->name)) continue;
        bool is_new =
            WEFT_TRY(in_context(apply(database, *migration), "migration", migration->name));
        if (is_new) done.push_back(migration->name);
    }
    return done;
}

}  // namespace weft::data
