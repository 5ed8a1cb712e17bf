#include "kernels/opencl/gemm/matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace fettle::kernels {
namespace {

int64_t PaddedColumns(int64_t columns) { return (columns + 3) / 4 * 4; }

/// `matrices` row-major matrices, each transposed.
std::vector<std::byte> Transposed(const Tensor& tensor, int64_t rows, int64_t columns) {
  const auto element = static_cast<size_t>(ByteSize(tensor.dtype()));
  std::vector<std::byte> out(tensor.bytes().size());
  const int64_t matrices = tensor.elements() / (rows * columns);
  for (int64_t z = 0; z < matrices; ++z)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(out.data() + static_cast<size_t>((z * columns + c) * rows + r) * element,
                    tensor.data() + static_cast<size_t>((z * rows + r) * columns + c) * element,
                    element);
  return out;
}

/// Copies rows between pitches given in elements.
void CopyRows(const std::byte* from, int64_t from_pitch, std::byte* to, int64_t to_pitch,
              int64_t rows, int64_t columns, int64_t element) {
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * to_pitch * element, from + r * from_pitch * element,
                static_cast<size_t>(columns * element));
}

constexpr double kWholeMacs = 50e6;
constexpr size_t kSamples = 4096;

}  // namespace

Result<DeviceMemory*> GemmMatrices::Memory(char name, MatrixForm form, int64_t rows,
                                           int64_t columns) {
  std::shared_ptr<DeviceMemory>& memory = memory_[{name, form}];
  if (memory != nullptr) return memory.get();
  MemoryRequest request{.kind = MemoryKind::kBuffer,
                        .bytes = shape_.batch * rows * columns * ByteSize(shape_.storage)};
  if (form == MatrixForm::kImage)
    request = {.kind = MemoryKind::kImage2d,
               .width = PaddedColumns(columns) / 4,
               .height = rows,
               .storage = shape_.storage};
  ASSIGN_OR_RETURN(memory, device_.Allocate(request));
  return memory.get();
}

Result<Location> GemmMatrices::Operand(char name, const Tensor& tensor, int64_t rows,
                                       int64_t columns, MatrixForm form) {
  const bool is_new = !memory_.contains({name, form});
  ASSIGN_OR_RETURN(DeviceMemory * memory, Memory(name, form, rows, columns));
  if (!is_new) return memory->location();
  const int64_t element = ByteSize(shape_.storage);
  std::vector<std::byte> bytes;
  if (form == MatrixForm::kTransposed) {
    bytes = Transposed(tensor, rows, columns);
  } else if (form == MatrixForm::kImage) {
    const int64_t pitch = PaddedColumns(columns);
    bytes.resize(static_cast<size_t>(rows * pitch * element));
    CopyRows(tensor.data(), columns, bytes.data(), pitch, rows, columns, element);
  } else {
    bytes.assign(tensor.bytes().begin(), tensor.bytes().end());
  }
  RETURN_IF_ERROR(stream_.Write(*memory, 0, bytes.data(), static_cast<int64_t>(bytes.size())));
  return memory->location();
}

Result<Location> GemmMatrices::A(MatrixForm form) {
  return Operand('a', a_, shape_.m, shape_.k, form);
}
Result<Location> GemmMatrices::B(MatrixForm form) {
  return Operand('b', b_, shape_.k, shape_.n, form);
}

Result<Location> GemmMatrices::FreshC(MatrixForm form) {
  ASSIGN_OR_RETURN(DeviceMemory * memory, Memory('c', form, shape_.m, shape_.n));
  const int64_t columns = form == MatrixForm::kImage ? PaddedColumns(shape_.n) : shape_.n;
  // All bits set are NaN in f32 and in f16.
  const std::vector<std::byte> poison(
      static_cast<size_t>(shape_.batch * shape_.m * columns * ByteSize(shape_.storage)),
      std::byte{0xff});
  RETURN_IF_ERROR(stream_.Write(*memory, 0, poison.data(), static_cast<int64_t>(poison.size())));
  return memory->location();
}

Result<Location> GemmMatrices::Workspace(int64_t bytes) {
  if (bytes == 0) return Location{};
  std::shared_ptr<DeviceMemory>& memory = memory_[{'w', MatrixForm::kRows}];
  if (memory == nullptr || memory->request().bytes < bytes) {
    ASSIGN_OR_RETURN(memory, device_.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
  }
  return memory->location();
}

Result<Tensor> GemmMatrices::ReadC(MatrixForm form) {
  ASSIGN_OR_RETURN(DeviceMemory * memory, Memory('c', form, shape_.m, shape_.n));
  ASSIGN_OR_RETURN(Tensor c, Tensor::Create(shape_.storage, {shape_.batch, shape_.m, shape_.n}));
  const int64_t element = ByteSize(shape_.storage);
  if (form != MatrixForm::kImage) {
    RETURN_IF_ERROR(stream_.Read(c.data(), *memory, 0, static_cast<int64_t>(c.bytes().size())));
    return c;
  }
  const int64_t pitch = PaddedColumns(shape_.n);
  std::vector<std::byte> bytes(static_cast<size_t>(shape_.m * pitch * element));
  RETURN_IF_ERROR(stream_.Read(bytes.data(), *memory, 0, static_cast<int64_t>(bytes.size())));
  CopyRows(bytes.data(), pitch, c.data(), shape_.n, shape_.m, shape_.n, element);
  return c;
}

std::vector<GemmMatrices::Coordinate> GemmMatrices::SampleCoordinates() const {
  std::vector<Coordinate> all;
  const auto [m, n, k, batch] = std::tuple(shape_.m, shape_.n, shape_.k, shape_.batch);
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k * batch) <=
      kWholeMacs) {
    for (int64_t z = 0; z < batch; ++z)
      for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c) all.push_back({z, r, c});
    return all;
  }
  std::mt19937_64 random(1);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (const int64_t z : {int64_t{0}, batch - 1})
    for (const int64_t r : {int64_t{0}, m - 1})
      for (const int64_t c : {int64_t{0}, n - 1}) all.push_back({z, r, c});
  for (size_t i = 0; i < kSamples / 8; ++i) {
    const int64_t z = below(batch);
    all.push_back({z, m - 1, below(n)});
    all.push_back({z, below(m), n - 1});
  }
  while (all.size() < kSamples) all.push_back({below(batch), below(m), below(n)});
  return all;
}

void GemmMatrices::FillWanted() {
  const HostView a = a_.view(), b = b_.view();
  double largest_a = 0, largest_b = 0;
  for (const Coordinate& at : coordinates_) {
    double sum = 0;
    for (int64_t p = 0; p < shape_.k; ++p) {
      const double left = a.GetDouble((at.matrix * shape_.m + at.row) * shape_.k + p);
      const double right = b.GetDouble((at.matrix * shape_.k + p) * shape_.n + at.column);
      largest_a = std::max(largest_a, std::abs(left));
      largest_b = std::max(largest_b, std::abs(right));
      sum += left * right;
    }
    wanted_.push_back(sum);
  }
  largest_ = largest_a * largest_b;
}

Difference GemmMatrices::Verify(const Tensor& c) {
  if (wanted_.empty()) FillWanted();
  Comparison comparison(
      KernelTolerance(shape_.storage, shape_.k, largest_ * static_cast<double>(shape_.k)));
  const HostView view = c.view();
  for (size_t i = 0; i < coordinates_.size(); ++i) {
    const Coordinate& at = coordinates_[i];
    const int64_t index = (at.matrix * shape_.m + at.row) * shape_.n + at.column;
    const double got = view.GetDouble(index);
    comparison.Add(index, {&got, 1}, {&wanted_[i], 1});
  }
  return comparison.Finish();
}

}  // namespace fettle::kernels
