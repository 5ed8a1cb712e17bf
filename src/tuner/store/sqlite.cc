#include "tuner/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace fettle::tuner::sqlite {
namespace {

/// No text of a row comes near; a damaged or hostile length must not ask for gigabytes.
constexpr int kLongestValue = 64 << 20;
constexpr int kLogPages = 1000;

StatusCode CodeFor(int extended) {
  if (extended == SQLITE_IOERR_SHORT_READ || extended == SQLITE_IOERR_CORRUPTFS)
    return StatusCode::kCorrupt;
  switch (extended & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // The statements are right and the schema was compared, so these come from damage too.
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_INTERNAL: return StatusCode::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return StatusCode::kBusy;
    case SQLITE_NOMEM: return StatusCode::kOutOfMemory;
    default: return StatusCode::kIo;
  }
}

/// What a code means for whoever named the file; null for those that files do not lead to.
const char* TextFor(int extended) {
  switch (extended & 0xff) {
    case SQLITE_NOTADB: return "not a database";
    case SQLITE_CORRUPT: return "the database is damaged";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "the database is locked by another process";
    case SQLITE_FULL: return "no space is left for the database";
    case SQLITE_READONLY: return "the database cannot be written";
    case SQLITE_CANTOPEN: return "the database cannot be opened";
    case SQLITE_IOERR: return "the database cannot be read or written";
    case SQLITE_NOMEM: return "out of memory";
    default: return nullptr;
  }
}

Status Failure(sqlite3* connection, const std::string& path) {
  const int extended = sqlite3_extended_errcode(connection);
  if (const char* text = TextFor(extended); text != nullptr)
    return Error(CodeFor(extended), "{}: {}", path, text);
  return Error(CodeFor(extended), "{}: {} (SQLite {})", path, sqlite3_errmsg(connection), extended);
}

/// `path` as a URI, so that access can be asked for; its special characters are escaped.
std::string UriFor(const std::string& path, Connection::Access access) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    else
      uri += c;
  }
  if (access == Connection::Access::kImmutable) uri += "?immutable=1";
  return uri;
}

/// A database may come from anyone: nothing in its schema is run.
void Distrust(sqlite3* connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kLongestValue);
}

/// The write-ahead log stays at closing: SQLite deletes it by name, which may by then belong to
/// another database, where this one was renamed.
void KeepLog(sqlite3* connection) {
  int on = 1;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
  sqlite3_wal_autocheckpoint(connection, kLogPages);
}

}  // namespace

void Statement::Finalise::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Connection::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Statement::BindOne(int index, int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}
void Statement::BindOne(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
}
void Statement::BindOne(int index, std::string_view value) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

Status Statement::Run(const std::function<Status()>& on_row) {
  Status status;
  int code = SQLITE_OK;
  while (status.ok() && (code = sqlite3_step(statement_.get())) == SQLITE_ROW)
    if (on_row) status = on_row();
  if (code != SQLITE_DONE && status.ok())
    status = Failure(sqlite3_db_handle(statement_.get()), *path_);
  sqlite3_reset(statement_.get());
  return status;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path, Access access) {
  const int mode =
      access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(UriFor(path, access).c_str(), &handle,
                                   mode | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle == nullptr) return Error(StatusCode::kOutOfMemory, "{}: out of memory", path);
  std::unique_ptr<Connection> connection(new Connection(handle, path));
  if (code != SQLITE_OK) return Failure(handle, path);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  Distrust(handle);
  if (access == Access::kWrite) KeepLog(handle);
  return connection;
}

Status Connection::Execute(const char* sql) {
  if (sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return Failure(connection_.get(), path_);
  return OkStatus();
}

Result<Statement> Connection::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    return Failure(connection_.get(), path_);
  return Statement(statement, path_);
}

Result<Statement*> Connection::Prepared(const std::string& sql) {
  auto kept = prepared_.find(sql);
  if (kept == prepared_.end()) {
    ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
    kept = prepared_.emplace(sql, std::move(statement)).first;
  }
  return &kept->second;
}

Result<int64_t> Connection::QueryInt(std::string_view sql) {
  ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  int64_t value = 0;
  RETURN_IF_ERROR(statement.Run([&] {
    value = statement.Int(0);
    return OkStatus();
  }));
  return value;
}

int64_t Connection::changes() const { return sqlite3_changes64(connection_.get()); }
bool Connection::writable() const { return sqlite3_db_readonly(connection_.get(), "main") == 0; }

Result<Transaction> Transaction::Begin(Connection& connection) {
  // A transaction that begins by reading could not wait for a lock later.
  RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr) (void)connection_->Execute("ROLLBACK");
}

Status Transaction::Commit() {
  RETURN_IF_ERROR(connection_->Execute("COMMIT"));
  connection_ = nullptr;
  return OkStatus();
}

}  // namespace fettle::tuner::sqlite
