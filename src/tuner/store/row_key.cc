#include "tuner/store/row_key.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "base/hash.h"

namespace fettle::tuner {
namespace {

/// How problems begin that are no computation (CeilingKey, NetworksKey, Calibrations), and the one
/// of these that is in microseconds (RunOverheads).
constexpr std::string_view kCeiling = "ceiling ", kInNetworks = "in networks",
                           kBesideSteps = "in networks, beside the steps of a run";

void Append(std::string& bytes, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
}
void Append(std::string& bytes, double value) { Append(bytes, std::bit_cast<uint64_t>(value)); }
/// With its length, so that no two lists of texts give the same bytes.
void Append(std::string& bytes, std::string_view text) {
  Append(bytes, uint64_t{text.size()});
  bytes += text;
}

std::string SubjectBytes(const RowKey& key) {
  std::string bytes;
  bytes.reserve(key.problem.size() + 512);
  Append(bytes, key.problem);
  Append(bytes, key.kernel);
  Append(bytes, static_cast<uint64_t>(key.version));
  Append(bytes, key.params);
  Append(bytes, Hardware(key.device));
  return bytes;
}

std::string KeyBytes(const RowKey& key) {
  std::string bytes = SubjectBytes(key);
  Append(bytes, key.device);
  Append(bytes, static_cast<uint64_t>(key.protocol));
  Append(bytes, key.build);
  return bytes;
}

}  // namespace

std::string_view Hardware(std::string_view fingerprint) {
  return fingerprint.substr(0, fingerprint.rfind("; driver "));
}

RowKey Subject(const RowKey& key) {
  RowKey subject = key;
  subject.device = Hardware(key.device);
  subject.protocol = 0;
  subject.build.clear();
  return subject;
}

bool SameSubject(const RowKey& a, const RowKey& b) {
  return a.problem == b.problem && a.kernel == b.kernel && a.version == b.version &&
         a.params == b.params && Hardware(a.device) == Hardware(b.device);
}

bool IsCeiling(const RowKey& key) { return key.problem.starts_with(kCeiling); }

bool IsTimed(const RowKey& key) { return !IsCeiling(key) && !key.problem.starts_with(kInNetworks); }

std::string UnitOf(const RowKey& key, const Row& row) {
  if (IsCeiling(key)) return row.reason;
  return IsTimed(key) || key.problem == kBesideSteps ? "us" : "x";
}

int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Row Stored(const RowKey& key, const Row& row) {
  Row stored = row;
  stored.prior = false;
  if (stored.unix_seconds == 0) stored.unix_seconds = UnixNow();
  const bool is_timed = IsTimed(key);
  for (double* value : {&stored.median_us, &stored.mad_us, &stored.low_us, &stored.error}) {
    const bool is_wrong = *value < 0 && (is_timed || value == &stored.error);
    if (!std::isfinite(*value) || is_wrong) *value = std::numeric_limits<double>::infinity();
    if (*value == 0) *value = 0;  // loses the sign
  }
  return stored;
}

uint64_t SubjectHash(const RowKey& key) { return HashText(SubjectBytes(key)); }
uint64_t KeyHash(const RowKey& key) { return HashText(KeyBytes(key)); }

uint64_t Checksum(const RowKey& key, const Row& row) {
  std::string bytes = KeyBytes(key);
  Append(bytes, static_cast<uint64_t>(row.status));
  for (const double value : {row.median_us, row.mad_us, row.low_us, row.error})
    Append(bytes, value);
  Append(bytes, static_cast<uint64_t>(row.samples));
  Append(bytes, row.reason);
  Append(bytes, static_cast<uint64_t>(row.unix_seconds));
  return HashText(bytes);
}

}  // namespace fettle::tuner
