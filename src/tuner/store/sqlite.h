// A thin cover over SQLite: connections, prepared statements, failures as Status.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fettle::tuner::sqlite {

/// A prepared statement. Belongs to its connection, which must outlive it; not synchronised.
class Statement {
 public:
  /// Binds ?1, ?2, ...; texts are not copied and must live until Run returns.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    [[maybe_unused]] int index = 0;
    (BindOne(++index, values), ...);
    return *this;
  }

  /// Executes it and calls `on_row` for each row of the result, until that fails. Ends the implicit
  /// transaction whatever happens. Damage is kCorrupt, a lock that stays kBusy, no memory
  /// kOutOfMemory, anything else kIo.
  Status Run(const std::function<Status()>& on_row = nullptr);

  /// Columns of the current row, from 0; inside `on_row` alone.
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;

 private:
  friend class Connection;
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const std::string& path)
      : statement_(statement), path_(&path) {}
  void BindOne(int index, int64_t value);
  void BindOne(int index, int value) { BindOne(index, static_cast<int64_t>(value)); }
  void BindOne(int index, double value);
  void BindOne(int index, std::string_view value);

  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
  const std::string* path_;  // of the connection
};

/// An open database file. Not synchronised; not to be used by a forked child.
class Connection {
 public:
  enum class Access {
    kWrite,      // created where absent
    kRead,       // takes locks, so others may write meanwhile
    kImmutable,  // takes no locks and looks at no write-ahead log
  };
  /// Reads nothing yet: what is no database shows at the first statement. A lock of another process
  /// is waited for up to `kBusyMilliseconds`.
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, Access access);
  static constexpr int kBusyMilliseconds = 5000;

  /// Runs statements without results.
  Status Execute(const char* sql);
  Result<Statement> Prepare(std::string_view sql);
  /// The same, prepared at the first call and kept; lives as long as the connection.
  Result<Statement*> Prepared(const std::string& sql);
  /// The first column of the first row; 0 without rows.
  Result<int64_t> QueryInt(std::string_view sql);
  /// Rows that the last statement changed.
  int64_t changes() const;
  bool writable() const;
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Connection(sqlite3* connection, std::string path)
      : connection_(connection), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  std::map<std::string, Statement> prepared_;
};

/// A write transaction: rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> Begin(Connection& connection);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace fettle::tuner::sqlite
