// GGUF files: metadata and tensors, read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_types.h"
#include "tensor/tensor.h"

namespace fettle::gguf {

/// A value of the metadata. Numbers of arrays are kept as f64 (exact below 2^53).
using Value =
    std::variant<bool, int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

struct TensorInfo {
  std::string name;
  const TensorType* type = nullptr;
  /// Rows of `columns` elements, which are whole blocks; all axes but the first are rows.
  int64_t rows = 1, columns = 1;
  std::vector<int64_t> extents;    // as in the file: the innermost, `columns`, first
  std::span<const uint8_t> bytes;  // in the file

  int64_t row_bytes() const { return columns / type->elements * type->bytes; }
};

/// A file of version 2 or 3, little endian. Immutable, thread-safe.
class File {
 public:
  /// Maps the file. Fails with kNotFound, kIo, kInvalidModel (any bytes are safe), or kUnsupported
  /// for tensor types that Fettle does not read, naming those it does. Messages start with the
  /// path.
  static Result<std::shared_ptr<const File>> Open(const std::string& path);
  /// The same from bytes that `owner` keeps alive.
  static Result<std::shared_ptr<const File>> Read(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner,
                                                  const std::string& name);
  /// Whether bytes begin as such a file does.
  static bool IsGguf(std::span<const std::byte> bytes);

  const std::string& name() const { return name_; }
  /// Null where there is none.
  const Value* Find(std::string_view key) const;
  /// The value under `key`, or the fallback; kInvalidModel where it has another type. Int also
  /// checks the range.
  Result<int64_t> Int(std::string_view key, std::optional<int64_t> fallback, int64_t low,
                      int64_t high) const;
  Result<double> Float(std::string_view key, std::optional<double> fallback) const;
  Result<std::string> Text(std::string_view key, std::optional<std::string> fallback) const;
  const std::vector<std::string>* Texts(std::string_view key) const;
  const std::vector<double>* Numbers(std::string_view key) const;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* FindTensor(std::string_view name) const;
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// The same values and tensors, those of `tensors` in another type and with other bytes, which
  /// `owner` keeps alive. `file` stays alive with it.
  struct Replaced {
    size_t tensor = 0;
    const TensorType* type = nullptr;
    std::span<const uint8_t> bytes;
  };
  static std::shared_ptr<const File> Replace(const std::shared_ptr<const File>& file,
                                             std::span<const Replaced> tensors,
                                             std::shared_ptr<const void> owner);

  /// The beginning of a copy of the file: all bytes before the first tensor's name.
  std::span<const std::byte> front() const { return front_; }
  /// The offset of the number `general.file_type` in it; -1: it is absent.
  int64_t file_type_at() const { return file_type_at_; }
  int64_t alignment() const { return alignment_; }

 private:
  friend class Reader;
  std::string name_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, Value, std::less<>> values_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::span<const std::byte> front_;
  int64_t file_type_at_ = -1, alignment_ = 32;
};

/// Constants over a tensor's bytes, which stay in the file: codes [rows, columns] (u4 or u8), and
/// scales and minima [rows, columns / part] (f16 where halves hold them exactly, otherwise f32).
struct BlockConstants {
  Constant codes, scales, minima;
};
BlockConstants ReadBlocks(const TensorInfo& tensor, std::shared_ptr<const void> owner);
/// All elements as f32, [rows, columns], or [columns, rows].
Constant ReadFloats(const TensorInfo& tensor, std::shared_ptr<const void> owner, bool transposed);
/// [count]: a tensor of one row.
Constant ReadVector(const TensorInfo& tensor, std::shared_ptr<const void> owner);
/// Row `row` as columns floats.
void ReadRow(const TensorInfo& tensor, int64_t row, float* out);

}  // namespace fettle::gguf
