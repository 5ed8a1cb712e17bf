#include "language/saved_cache.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace fettle::language {
namespace {

/// What a header calls the types of caches.
struct CacheKind {
  char kind;
  DType dtype;
  const char* name;
};
constexpr CacheKind kCacheKinds[] = {{'1', DType::kF16, "f16"},
                                     {'2', DType::kI8, "bytes"},
                                     {'3', DType::kF32, "f32"},
                                     {'4', DType::kBF16, "bf16"}};

/// Little endian, as everything that Fettle writes.
struct Header {
  char magic[7] = {'F', 'T', 'L', 'C', 'A', 'C', 'H'};
  char kind = kCacheKinds[0].kind;
  uint64_t fingerprint = 0;
  int64_t tokens = 0;
  uint64_t rows_hash = 0;  // of all bytes behind the header
};

/// Null: none has it.
const CacheKind* KindNamed(char kind) {
  for (const CacheKind& row : kCacheKinds)
    if (row.kind == kind) return &row;
  return nullptr;
}

const CacheKind& KindOf(const std::vector<Tensor>& caches) {
  for (const CacheKind& row : kCacheKinds)
    if (!caches.empty() && row.dtype == caches[0].dtype()) return row;
  return kCacheKinds[0];
}

int64_t RowBytes(const Tensor& cache) { return cache.shape()[3] * ByteSize(cache.dtype()); }

/// Calls f(first row of a head, bytes of its first `tokens` rows).
template <typename F>
void ForEachHead(const Tensor& cache, int64_t tokens, F f) {
  const int64_t row = RowBytes(cache);
  for (int64_t head = 0; head < cache.shape()[1]; ++head)
    f(head * cache.shape()[2] * row, tokens * row);
}

}  // namespace

uint64_t FingerprintOf(const gguf::File& file) {
  uint64_t hash = 0;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    hash = HashBytes(std::as_bytes(std::span(tensor.name)), hash);
    const int64_t sizes[] = {tensor.rows, tensor.columns, tensor.row_bytes()};
    hash = HashBytes(std::as_bytes(std::span(sizes)), hash);
    const auto begin = tensor.bytes.first(std::min<size_t>(tensor.bytes.size(), 256));
    hash = HashBytes(std::as_bytes(begin), hash);
  }
  return hash;
}

void CopyRows(const Tensor& from, Tensor& to, int64_t tokens) {
  ForEachHead(from, tokens, [&](int64_t at, int64_t bytes) {
    std::memcpy(to.bytes().data() + at, from.bytes().data() + at, bytes);
  });
}

int64_t SavedBytes(const std::vector<Tensor>& caches, int64_t tokens) {
  int64_t bytes = sizeof(Header);
  for (const Tensor& cache : caches) bytes += cache.shape()[1] * tokens * RowBytes(cache);
  return bytes;
}

void SaveCaches(const std::vector<Tensor>& caches, int64_t tokens, uint64_t fingerprint,
                std::span<std::byte> to) {
  std::byte* out = to.data() + sizeof(Header);
  for (const Tensor& cache : caches) {
    ForEachHead(cache, tokens, [&](int64_t at, int64_t bytes) {
      std::memcpy(out, cache.bytes().data() + at, bytes);
      out += bytes;
    });
  }
  Header header;
  header.kind = KindOf(caches).kind;
  header.fingerprint = fingerprint;
  header.tokens = tokens;
  header.rows_hash = HashBytes(to.subspan(sizeof(Header)));
  std::memcpy(to.data(), &header, sizeof(Header));
}

Result<int64_t> RestoreCaches(std::span<const std::byte> saved, uint64_t fingerprint,
                              int64_t context, std::vector<Tensor>& caches, int64_t state_bytes) {
  Header header;
  const Header expected;
  if (saved.size() < sizeof(Header))
    return Error(StatusCode::kCorrupt, "the bytes are not a saved cache");
  std::memcpy(&header, saved.data(), sizeof(Header));
  if (std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0 ||
      KindNamed(header.kind) == nullptr)
    return Error(StatusCode::kCorrupt, "the bytes are not a saved cache");
  if (header.fingerprint != fingerprint)
    return InvalidArgument("the saved cache is of another model");
  if (header.kind != KindOf(caches).kind)
    return InvalidArgument("the saved cache is one of {}, and this model's is of {}",
                           KindNamed(header.kind)->name, KindOf(caches).name);
  if (header.tokens > context)
    return InvalidArgument("the saved cache of {} tokens exceeds the context of {}", header.tokens,
                           context);
  const auto rows = saved.subspan(sizeof(Header));
  if (header.tokens < 0 || std::ssize(saved) != SavedBytes(caches, header.tokens) + state_bytes ||
      HashBytes(rows) != header.rows_hash)
    return Error(StatusCode::kCorrupt, "the saved cache is cut off or changed");
  const std::byte* in = rows.data();
  for (Tensor& cache : caches) {
    ForEachHead(cache, header.tokens, [&](int64_t at, int64_t bytes) {
      std::memcpy(cache.bytes().data() + at, in, bytes);
      in += bytes;
    });
  }
  return header.tokens;
}

}  // namespace fettle::language
