#include "importers/gguf/encode_blocks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "importers/gguf/encode_super_blocks.h"
#include "importers/gguf/fit_scales.h"
#include "importers/gguf/put_bits.h"

namespace fettle::gguf {
namespace {

constexpr int kSmall = 32;  // elements of a block that is not a super block

/// Codes, from 0 on, as ReadNibbles and AddFifth read them.
void PutNibbles(const int* codes, uint8_t* to) {
  for (int i = 0; i < 16; ++i)
    to[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}
void PutFifth(const int* codes, uint8_t* to) {
  std::memset(to, 0, 4);
  for (int i = 0; i < kSmall; ++i) AddBits((codes[i] >> 4) << (i % 8), to[i / 8]);
}

/// The best scale with codes from -middle on; codes from 0 on.
void Centred(const float* x, int middle, int* codes, uint8_t* scale) {
  const CodeRange range{static_cast<float>(-middle), static_cast<float>(middle - 1), true};
  const Grid grid = FitScale(x, kSmall, range);
  float nearest[kSmall];
  PutCodes(x, kSmall, grid, range, nearest);
  PutHalf(grid.scale, scale);
  for (int i = 0; i < kSmall; ++i) codes[i] = static_cast<int>(nearest[i]) + middle;
}
/// The same with a minimum.
void Shifted(const float* x, int most, int* codes, uint8_t* scale) {
  const CodeRange range{0, static_cast<float>(most), true};
  const Grid grid = FitScaleAndMinimum(x, kSmall, range);
  float nearest[kSmall];
  PutCodes(x, kSmall, grid, range, nearest);
  PutHalf(grid.scale, scale);
  PutHalf(grid.minimum, scale + 2);
  for (int i = 0; i < kSmall; ++i) codes[i] = static_cast<int>(nearest[i]);
}

void EncodeQ40(const float* x, uint8_t* block) {
  int codes[kSmall];
  Centred(x, 8, codes, block);
  PutNibbles(codes, block + 2);
}
void EncodeQ41(const float* x, uint8_t* block) {
  int codes[kSmall];
  Shifted(x, 15, codes, block);
  PutNibbles(codes, block + 4);
}
void EncodeQ50(const float* x, uint8_t* block) {
  int codes[kSmall];
  Centred(x, 16, codes, block);
  PutFifth(codes, block + 2);
  PutNibbles(codes, block + 6);
}
void EncodeQ51(const float* x, uint8_t* block) {
  int codes[kSmall];
  Shifted(x, 31, codes, block);
  PutFifth(codes, block + 4);
  PutNibbles(codes, block + 8);
}
void EncodeQ80(const float* x, uint8_t* block) {
  int codes[kSmall];
  Centred(x, 128, codes, block);
  for (int i = 0; i < kSmall; ++i) block[2 + i] = static_cast<uint8_t>(codes[i] - 128);
}

/// Codes -1, 0 and 1: of the k largest magnitudes with their mean as the scale, the k that leaves
/// the least error.
void EncodeTq2(const float* x, uint8_t* block) {
  float sorted[256];
  std::transform(x, x + 256, sorted, [](float value) { return std::fabs(value); });
  std::sort(sorted, sorted + 256, std::greater<>());
  double sum = 0, best = 0, scale = 0;
  for (int i = 0; i < 256; ++i) {
    sum += static_cast<double>(sorted[i]);
    if (sum * sum / (i + 1) <= best) continue;
    best = sum * sum / (i + 1);
    scale = sum / (i + 1);
  }
  const float held = AsHalf(static_cast<float>(scale));
  PutHalf(held, block + 64);
  std::memset(block, 0, 64);
  for (int i = 0; i < 256; ++i) {
    const int code = std::fabs(x[i]) * 2 <= held || held == 0 ? 1 : x[i] < 0 ? 0 : 2;
    AddBits(code << (i % 128 / 32 * 2), block[i / 128 * 32 + i % 32]);
  }
}

void EncodeF32(const float* x, uint8_t* out) { std::memcpy(out, x, 4); }
void EncodeF16(const float* x, uint8_t* out) { PutHalf(*x, out); }
/// To the nearest, ties to even.
void EncodeBf16(const float* x, uint8_t* out) {
  uint32_t bits = 0;
  std::memcpy(&bits, x, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  out[0] = static_cast<uint8_t>(bits >> 16);
  out[1] = static_cast<uint8_t>(bits >> 24);
}

struct Encoder {
  std::string_view name;
  void (*encode)(const float* x, uint8_t* block);
};
constexpr Encoder kEncoders[] = {
    {"TQ2_0", EncodeTq2}, {"Q2_K", EncodeQ2K}, {"Q3_K", EncodeQ3K}, {"Q4_0", EncodeQ40},
    {"Q4_K", EncodeQ4K},  {"Q4_1", EncodeQ41}, {"Q5_0", EncodeQ50}, {"Q5_K", EncodeQ5K},
    {"Q5_1", EncodeQ51},  {"Q6_K", EncodeQ6K}, {"Q8_0", EncodeQ80}, {"F16", EncodeF16},
    {"BF16", EncodeBf16}, {"F32", EncodeF32},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

const Encoder& EncoderOf(const TensorType& type) {
  return *std::ranges::find(kEncoders, type.name, &Encoder::name);
}

}  // namespace

const std::vector<const TensorType*>& EncodedTypes() {
  static const auto& types = *new std::vector<const TensorType*>([] {
    std::vector<const TensorType*> all;
    for (const Encoder& row : kEncoders) {
      for (uint32_t id = 0; id < 64; ++id) {
        const TensorType* type = FindType(id);
        if (type != nullptr && type->name == row.name) all.push_back(type);
      }
    }
    return all;
  }());
  return types;
}

std::string EncodedNames() {
  std::string names;
  for (const TensorType* type : EncodedTypes())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", Lower(type->name));
  return names;
}

const TensorType* FindEncodedType(std::string_view name) {
  const std::string wanted = Lower(name);
  for (const TensorType* type : EncodedTypes()) {
    if (Lower(type->name) == wanted) return type;
  }
  return nullptr;
}

void Encode(const TensorType& type, const float* values, int64_t count, uint8_t* out) {
  const auto encode = EncoderOf(type).encode;
  for (int64_t i = 0; i < count; ++i) encode(values + i * type.elements, out + i * type.bytes);
}

Status EncodeRows(const TensorInfo& tensor, const TensorType& type, int64_t begin, int64_t rows,
                  uint8_t* out, double* error, double* power) {
  const int64_t columns = tensor.columns, blocks = columns / type.elements;
  std::vector<float> values(columns), back(columns);
  for (int64_t row = begin; row < begin + rows; ++row, out += blocks * type.bytes) {
    ReadRow(tensor, row, values.data());
    if (&type == tensor.type) {
      std::memcpy(out, tensor.bytes.data() + row * tensor.row_bytes(), tensor.row_bytes());
      back = values;
    } else {
      // Steps are halves, and the widest codes are 127 of them.
      const float most = type.bits == 0 ? HUGE_VALF : 65504;
      const auto bad = std::ranges::find_if(
          values, [most](float x) { return !(std::fabs(x) <= most) && std::isfinite(most); });
      if (bad != values.end())
        return InvalidModel("tensor '{}': element {} of row {} is {}, which {} does not hold",
                            tensor.name, bad - values.begin(), row, *bad, type.name);
      Encode(type, values.data(), blocks, out);
      Dequantise(type, out, blocks, back.data());
    }
    for (int64_t i = 0; i < columns; ++i) {
      const double x = static_cast<double>(values[i]), off = x - static_cast<double>(back[i]);
      *error += off * off;
      *power += x * x;
    }
  }
  return OkStatus();
}

Result<Encoded> EncodeTensor(const TensorInfo& tensor, const TensorType& type, int threads) {
  const int64_t row_bytes = tensor.columns / type.elements * type.bytes;
  Encoded done;
  done.bytes.resize(tensor.rows * row_bytes);
  std::mutex mutex;
  Status failed;
  const auto work = [&](int64_t begin, int64_t end) {
    double error = 0, power = 0;
    const Status status = EncodeRows(tensor, type, begin, end - begin,
                                     done.bytes.data() + begin * row_bytes, &error, &power);
    const std::lock_guard lock(mutex);
    done.error += error;
    done.power += power;
    if (!status.ok()) failed = status;
  };
  const int64_t parts = std::clamp<int64_t>(threads, 1, tensor.rows);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < parts; ++i)
    others.emplace_back(work, tensor.rows * i / parts, tensor.rows * (i + 1) / parts);
  work(0, tensor.rows / parts);
  for (std::thread& other : others) other.join();
  RETURN_IF_ERROR(failed);
  return done;
}

}  // namespace fettle::gguf
