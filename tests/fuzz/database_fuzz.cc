// libFuzzer target: any bytes as a tuning database, and any damage to a sound one. Answers must be
// right or missing, and the store must go on working.
//   tests/fuzz/run database_fuzz 600
// The first byte of an input says what the others are: 0 the file, 1 changes to the file of a sound
// database, 2 changes to its log. A change is three bytes of place and one to xor there; a last one
// that is incomplete cuts the part off at its place.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tuner/store/database.h"
#include "tuner/store/maintenance.h"

namespace fettle::tuner {
namespace {

constexpr int kRows = 20;

void Expect(bool condition) {
  if (!condition) std::abort();
}

RowKey KeyOf(int index) {
  return {.problem = fmt::format("problem {}", index),
          .kernel = "cpu.kernel",
          .params = "tile=8",
          .device = "device; driver 1",
          .build = index % 2 == 0 ? "build" : "another build"};
}
Row RowOf(int index) {
  return {.median_us = index + 0.5, .samples = index, .unix_seconds = 1'000'000 + index};
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder of this process in memory; it is small and stays behind if the process is killed.
const std::filesystem::path& Folder() {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path path = fmt::format("/dev/shm/fettle-database-fuzz.{}", ::getpid());
    std::filesystem::create_directories(path);
    std::atexit([] { std::filesystem::remove_all(Folder()); });
    return path;
  }();
  return folder;
}

void Clear() {
  for (const auto& entry : std::filesystem::directory_iterator(Folder()))
    std::filesystem::remove_all(entry.path());
}

struct Image {
  std::string file, log;
};

Image MakeImage() {
  const std::string path = Folder() / "tuning.db";
  const auto store = OpenStore(path);
  for (int i = 0; i < kRows; ++i) store->Put(KeyOf(i), RowOf(i));
  store->PutDecision("graph", "decision");
  store->BeginFlight(KeyOf(kRows));
  Image image = {Read(path), Read(path + "-wal")};
  // As it is once the log has been worked in.
  Expect((*Database::Open(path, Database::Access::kWrite))
             ->connection()
             .Execute("PRAGMA wal_checkpoint(TRUNCATE)")
             .ok());
  image.file = Read(path);
  return image;
}

void Damage(std::string& part, std::string_view changes) {
  const auto place_of = [&](std::string_view bytes) {
    size_t place = 0;
    for (const char byte : bytes.substr(0, 3))
      place = place << 8 | static_cast<unsigned char>(byte);
    return place % part.size();
  };
  for (; changes.size() >= 4; changes.remove_prefix(4)) part[place_of(changes)] ^= changes[3];
  if (!changes.empty()) part.resize(place_of(changes));
}

Image ImageOf(std::string_view input) {
  static const Image sound = MakeImage();
  if (input.empty()) return {};
  const char kind = input[0];
  input.remove_prefix(1);
  Image image = sound;
  if (kind == 1) {
    Damage(image.file, input);
    image.log.clear();
  } else if (kind == 2) {
    Damage(image.log, input);
  } else {
    image = {std::string(input), ""};
  }
  return image;
}

/// `damaged`: the file was a sound one, so a row that is found must be the one that was put.
void UseStore(const std::string& path, bool damaged) {
  const auto store = OpenStore(path);
  for (int i = 0; i < kRows; ++i) {
    const Result<Row> row = store->Find(KeyOf(i));
    if (row.ok() && damaged) Expect(row->median_us == RowOf(i).median_us && !row->prior);
  }
  (void)store->FindDecision("graph");
  store->Put(KeyOf(kRows + 1), RowOf(kRows + 1));
  store->BeginFlight(KeyOf(kRows + 2));
  store->EndFlight(KeyOf(kRows + 2));
  const Result<Row> row = store->Find(KeyOf(kRows + 1));
  // A flipped byte of an index may hide a row from SQLite, which then is measured again; it never
  // changes one. What is no damaged database is rebuilt, and loses nothing without a word.
  if (row.ok()) {
    Expect(row->median_us == RowOf(kRows + 1).median_us);
  } else {
    Expect(damaged || !store->trouble().empty());
  }
  Expect(store->trouble().find('\n') == std::string::npos);
}

void UseDatabase(const std::string& path) {
  const auto database = Database::Open(path, Database::Access::kRead);
  if (!database.ok()) return;
  (void)Verify(**database);
  const auto other = Database::Open(Folder() / "other.db", Database::Access::kWrite);
  Expect(other.ok());
  (void)Merge(**other, **database);
}

}  // namespace
}  // namespace fettle::tuner

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fettle::tuner;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Image image = ImageOf(input);
  const std::string path = Folder() / "tuning.db";
  Clear();
  Write(path, image.file);
  Write(path + "-wal", image.log);
  UseDatabase(path);
  UseStore(path, size > 0 && (data[0] == 1 || data[0] == 2));
  return 0;
}
