// The store that lasts: a database that several processes share, over a layer that is only read,
// and memory for what cannot be written.
#include <mutex>
#include <utility>

#include "base/log.h"
#include "tuner/store/database.h"
#include "tuner/store/database_file.h"
#include "tuner/store/maintenance.h"
#include "tuner/store/row_key.h"
#include "tuner/store/store.h"

namespace fettle::tuner {
namespace {

constexpr int64_t kSizeLimitBytes = int64_t{256} << 20;
constexpr int kPutsPerSizeCheck = 64;
/// By one store: a disk that damages everything ends in memory.
constexpr int kMostSetAside = 2;

class LayeredStore final : public Store {
 public:
  LayeredStore(std::string path, const std::string& layer) : name_(std::move(path)) {
    if (!name_.empty()) Open();
    if (!layer.empty()) OpenLayer(layer);
  }

  Result<Row> Find(const RowKey& key) override {
    std::lock_guard lock(mutex_);
    Result<Row> best = unsaved_->Find(key);
    for (const Source source : {Source::kDatabase, Source::kLayer}) {
      if (best.ok() && !best->prior) break;
      Result<Row> found = Read(source, [&](Database& database) { return database.Find(key); });
      if (!found.ok()) continue;
      if (!best.ok() || !found->prior || found->unix_seconds > best->unix_seconds)
        best = std::move(found);
    }
    return best;
  }

  void Put(const RowKey& key, const Row& row) override {
    std::lock_guard lock(mutex_);
    if (!Save([&](Database& database) { return database.Put(key, row); })) unsaved_->Put(key, row);
    if (++puts_ % kPutsPerSizeCheck == 0)
      Save([](Database& database) { return LimitSize(database, kSizeLimitBytes).status(); });
  }

  void BeginFlight(const RowKey& key) override {
    std::lock_guard lock(mutex_);
    Save([&](Database& database) { return database.BeginFlight(key); });
  }

  void EndFlight(const RowKey& key) override {
    std::lock_guard lock(mutex_);
    Save([&](Database& database) { return database.EndFlight(key); });
  }

  Result<std::string> FindDecision(const std::string& key) override {
    std::lock_guard lock(mutex_);
    Result<std::string> decision = unsaved_->FindDecision(key);
    for (const Source source : {Source::kDatabase, Source::kLayer}) {
      if (decision.ok()) break;
      decision = Read(source, [&](Database& database) { return database.FindDecision(key); });
    }
    return decision;
  }

  void PutDecision(const std::string& key, const std::string& text) override {
    std::lock_guard lock(mutex_);
    const DecisionRecord decision{key, text, UnixNow()};
    if (!Save([&](Database& database) { return database.PutDecision(decision); }))
      unsaved_->PutDecision(key, text);
  }

  std::string trouble() const override {
    std::lock_guard lock(mutex_);
    return trouble_;
  }

  bool is_kept() const override {
    std::lock_guard lock(mutex_);
    return writable_ || name_.empty();
  }

 private:
  enum class Source { kDatabase, kLayer };

  /// The first trouble of a store is worth a warning; the rest mostly follows from it.
  void Report(const std::string& text) {
    Log(trouble_.empty() ? LogLevel::kWarn : LogLevel::kInfo, "{}", text);
    trouble_ += (trouble_.empty() ? "" : "; ") + text;
  }

  void ReportDamage(const Database& database) {
    if (database.damaged() == 0 || reported_damage_) return;
    reported_damage_ = true;
    Report(
        fmt::format("{}: a row disagrees with its checksum and is dropped; `fettle db verify` "
                    "checks the others",
                    database.path()));
  }

  /// Opens the database to write, else to read, else not at all. Damage, which `failure` may have
  /// found, is set aside, and what can still be read of it goes into a new one.
  void Open(Status failure = OkStatus()) {
    writable_ = false;
    database_.reset();
    (void)ResolveDatabase(name_);  // makes the folder, which is locked next
    const FolderLock lock(name_);
    // Another process may have set it aside before.
    if (failure.ok() || IdentityOf(path_) != identity_) failure = OpenToWrite();
    for (; failure.code() == StatusCode::kCorrupt && set_aside_ < kMostSetAside; ++set_aside_) {
      const Result<std::string> aside = SetAside(path_);
      if (!aside.ok()) break;
      const std::string cause = failure.message();
      failure = OpenToWrite();
      const int64_t saved = failure.ok() ? Salvage(*database_, *aside) : 0;
      Report(fmt::format("{}; it was renamed to {}, and a new one begins with {} of its rows",
                         cause, *aside, saved));
    }
    if (failure.ok()) return;
    Report(failure.message() + "; what is learned is kept in memory");
    // Nobody waits twice for a lock.
    if (failure.code() == StatusCode::kBusy) return;
    Result<std::unique_ptr<Database>> readable = Database::Open(path_, Database::Access::kRead);
    if (readable.ok()) database_ = std::move(*readable);
  }

  Status OpenToWrite() {
    path_ = name_;
    ASSIGN_OR_RETURN(path_, ResolveDatabase(name_));
    ASSIGN_OR_RETURN(auto database, Database::Open(path_, Database::Access::kWrite));
    ASSIGN_OR_RETURN(const int64_t crashes, database->CollectCrashes());
    if (crashes > 0) Log(LogLevel::kInfo, "{}: {} crashes of earlier runs", path_, crashes);
    identity_ = IdentityOf(path_);
    database_ = std::move(database);
    writable_ = true;
    return OkStatus();
  }

  void OpenLayer(const std::string& path) {
    Result<std::unique_ptr<Database>> layer = Database::Open(path, Database::Access::kRead);
    if (layer.ok())
      layer_ = std::move(*layer);
    else
      Report(layer.status().message() + "; it is left out");
  }

  /// What follows from a failure of the database.
  void Recover(const Status& failure, bool reading) {
    if (failure.code() == StatusCode::kCorrupt && writable_) return Open(failure);
    Report(failure.message() + "; what is learned is kept in memory");
    writable_ = false;
    if (reading) database_.reset();
  }

  /// True where `write` has reached the database; else the caller has to remember.
  template <typename Write>
  bool Save(Write write) {
    if (writable_ && IdentityOf(path_) != identity_) {
      Report(path_ + ": replaced while in use; the new one is used");
      Open();
    }
    for (int attempt = 0; writable_ && attempt < 2; ++attempt) {
      const Status status = write(*database_);
      if (status.ok()) return true;
      if (status.code() == StatusCode::kInvalidArgument) return false;
      Recover(status, /*reading=*/false);
    }
    return false;
  }

  template <typename Query>
  auto Read(Source source, Query query) -> decltype(query(std::declval<Database&>())) {
    std::unique_ptr<Database>& database = source == Source::kLayer ? layer_ : database_;
    const Status absent = Error(StatusCode::kNotFound, "not known yet");
    if (database == nullptr) return absent;
    auto result = query(*database);
    ReportDamage(*database);
    if (result.ok() || result.status().code() == StatusCode::kNotFound) return result;
    if (source == Source::kDatabase) {
      Recover(result.status(), /*reading=*/true);
      // The new database has what could be saved of the old one.
      if (database != nullptr) result = query(*database);
      if (result.ok()) return result;
    } else {
      Report(result.status().message() + "; it is left out");
      layer_.reset();
    }
    return absent;
  }

  const std::string name_;  // as it was given; path_: with links followed
  mutable std::mutex mutex_;
  std::string path_;
  std::unique_ptr<Database> database_, layer_;
  const std::unique_ptr<Store> unsaved_ = MemoryStore();
  FileIdentity identity_;  // of the file that database_ has open
  bool writable_ = false;
  bool reported_damage_ = false;
  int set_aside_ = 0;
  int64_t puts_ = 0;
  std::string trouble_;
};

/// Times of debug and sanitizer builds say nothing about any other run.
constexpr bool KeepsTimes() {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

}  // namespace

std::unique_ptr<Store> OpenStore(const std::string& path, const std::string& read_only_layer) {
  return std::make_unique<LayeredStore>(path, read_only_layer);
}

std::unique_ptr<Store> OpenUserStore(const std::string& folder) {
  if (folder.empty() && !KeepsTimes()) return MemoryStore();
  const std::string path = DatabasePath(folder);
  if (!path.empty()) return OpenStore(path);
  Log(LogLevel::kWarn,
      "neither XDG_CACHE_HOME nor HOME names a folder; what is learned is kept in memory");
  return MemoryStore();
}

}  // namespace fettle::tuner
