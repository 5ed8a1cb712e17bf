#include "runtime/product/matrix_product.h"

#include <fmt/format.h>

#include <cstring>

namespace fettle::runtime {

/// One of the three matrices in the caller's memory, and a copy without gaps where rows or matrices
/// do not follow each other there.
class MatrixProduct::Operand {
 public:
  /// `rows` and `columns` as stored; 0 `matrices`: one that all products read.
  static Result<std::unique_ptr<Operand>> Create(std::string_view name, DType type,
                                                 int64_t matrices, int64_t rows, int64_t columns,
                                                 int64_t leading, int64_t stride) {
    auto made = std::make_unique<Operand>();
    made->type_ = type;
    made->matrices_ = std::max<int64_t>(matrices, 1);
    made->rows_ = rows;
    made->columns_ = columns;
    made->leading_ = leading == 0 ? columns : leading;
    made->stride_ = stride;
    if (made->leading_ < columns)
      return InvalidArgument("gemm: ld{} {}: rows of {} have {} elements", name, leading, name,
                             columns);
    if (stride < 0) return InvalidArgument("gemm: stride_{} {}: expected 0 or more", name, stride);
    made->shape_ = matrices > 1 ? Shape{matrices, rows, columns} : Shape{rows, columns};
    if (!made->shape_.CheckedElements())
      return InvalidArgument("gemm: {} of shape {}: too large", name, made->shape_.ToString());
    return made;
  }

  bool IsDense() const {
    return leading_ == columns_ && (matrices_ == 1 || stride_ == rows_ * columns_);
  }
  const Shape& shape() const { return shape_; }

  /// The operand as a tensor, which is read before `from` changes.
  Result<Tensor> Read(const void* from) {
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(from));
    if (IsDense() && reinterpret_cast<uintptr_t>(from) % static_cast<size_t>(Bytes(1)) == 0)
      return Tensor::Borrow(type_, shape_, bytes);
    if (copy_.empty()) {
      ASSIGN_OR_RETURN(copy_, Tensor::Create(type_, shape_));
    }
    EachRow([&](int64_t dense, int64_t given) {
      std::memcpy(copy_.data() + dense, bytes + given, Bytes(columns_));
    });
    return copy_;
  }

  /// Stores the result.
  void Write(const Tensor& from, void* to) const {
    auto* bytes = static_cast<std::byte*>(to);
    EachRow([&](int64_t dense, int64_t given) {
      std::memcpy(bytes + given, from.data() + dense, Bytes(columns_));
    });
  }

  /// Multiplies all elements by `factor`; 0 reads none of them.
  void Scale(double factor, void* to) const {
    if (factor == 1) return;
    auto* bytes = static_cast<std::byte*>(to);
    EachRow([&](int64_t, int64_t given) {
      if (factor == 0) {
        std::memset(bytes + given, 0, Bytes(columns_));
        return;
      }
      const HostView row{bytes + given, type_, Shape{columns_}, {1}};
      for (int64_t i = 0; i < columns_; ++i) row.SetDouble(i, factor * row.GetDouble(i));
    });
  }

 private:
  int64_t Bytes(int64_t elements) const { return StorageBytes(type_, elements); }

  /// Calls `each` with the bytes before a row without gaps and in the caller's memory.
  template <typename Each>
  void EachRow(const Each& each) const {
    for (int64_t z = 0; z < matrices_; ++z)
      for (int64_t r = 0; r < rows_; ++r)
        each(Bytes((z * rows_ + r) * columns_), Bytes(z * stride_ + r * leading_));
  }

  DType type_ = DType::kUndefined;
  int64_t matrices_ = 1, rows_ = 0, columns_ = 0, leading_ = 0, stride_ = 0;
  Shape shape_;
  Tensor copy_;
};

MatrixProduct::MatrixProduct(const ProductProblem& problem, const ProductStrides& strides,
                             SessionOptions options)
    : problem_(problem), options_(std::move(options)) {
  // A single matrix A for all products is read again for each; a B is shared by kernels.
  problem_.shared_b = problem.batch > 1 && strides.b == 0;
}
MatrixProduct::~MatrixProduct() = default;

Result<std::unique_ptr<MatrixProduct>> MatrixProduct::Create(const ProductProblem& problem,
                                                             const ProductStrides& strides,
                                                             const void* constant_b,
                                                             SessionOptions options) {
  RETURN_IF_ERROR(CheckProduct(problem));
  const ProductProblem& p = problem;
  std::unique_ptr<MatrixProduct> made(new MatrixProduct(problem, strides, std::move(options)));
  ASSIGN_OR_RETURN(made->a_, Operand::Create("a", p.a, p.batch, p.trans_a ? p.k : p.m,
                                             p.trans_a ? p.m : p.k, strides.lda, strides.a));
  ASSIGN_OR_RETURN(made->b_, Operand::Create("b", p.b, made->problem_.shared_b ? 1 : p.batch,
                                             p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n,
                                             strides.ldb, strides.b));
  ASSIGN_OR_RETURN(made->c_, Operand::Create("c", p.c, p.batch, p.m, p.n, strides.ldc, strides.c));
  const int64_t ldc = strides.ldc == 0 ? p.n : strides.ldc;
  if (p.batch > 1 && !made->IsEmpty() && strides.c < (p.m - 1) * ldc + p.n)
    return InvalidArgument("gemm: stride_c {}: matrices of C overlap, expected at least {}",
                           strides.c, (p.m - 1) * ldc + p.n);
  made->has_constant_b_ = constant_b != nullptr;
  if (!made->IsEmpty() && !made->IsScalingAlone()) RETURN_IF_ERROR(made->Prepare(constant_b));
  return made;
}

Status MatrixProduct::Prepare(const void* constant_b) {
  std::shared_ptr<const Constant> constant;
  if (constant_b != nullptr) {
    ASSIGN_OR_RETURN(const Tensor given, b_->Read(constant_b));
    // A copy of its own: the caller's memory may go.
    ASSIGN_OR_RETURN(const Tensor kept, Tensor::Create(given.dtype(), given.shape()));
    std::memcpy(kept.data(), given.data(), given.bytes().size());
    constant = std::make_shared<Constant>(Constant::FromTensor(kept));
  }
  ASSIGN_OR_RETURN(ir::Graph graph, ProductGraph(problem_, constant));
  ASSIGN_OR_RETURN(model_, Model::FromGraph(std::move(graph), "gemm"));
  return NewSession();
}

Status MatrixProduct::NewSession() {
  ASSIGN_OR_RETURN(session_, Session::Create(model_, options_));
  std::map<std::string, Shape> shapes;
  for (ir::ValueId id : model_->graph().inputs) {
    const ir::Value& input = model_->graph().value(id);
    shapes.emplace(input.name, *input.shape);
  }
  return session_->Prepare(shapes);
}

Status MatrixProduct::UsePlans(std::shared_ptr<planner::PlanSource> plans) {
  options_.plans = std::move(plans);
  return model_ == nullptr ? OkStatus() : NewSession();
}

Status MatrixProduct::Run(const void* a, const void* b, void* c) {
  if (IsEmpty()) return OkStatus();
  if (c == nullptr) return InvalidArgument("gemm: c is null");
  if (IsScalingAlone()) {
    c_->Scale(problem_.beta, c);
    return OkStatus();
  }
  if (a == nullptr) return InvalidArgument("gemm: a is null");
  if (b == nullptr && !has_constant_b_) return InvalidArgument("gemm: b is null");
  TensorMap inputs, outputs;
  ASSIGN_OR_RETURN(inputs["a"], a_->Read(a));
  if (!has_constant_b_) {
    ASSIGN_OR_RETURN(inputs["b"], b_->Read(b));
  }
  if (problem_.beta != 0) {
    ASSIGN_OR_RETURN(inputs["c0"], c_->Read(c));
  }
  RETURN_IF_ERROR(session_->Run(inputs, &outputs));
  c_->Write(outputs.at("c"), c);
  return OkStatus();
}

std::vector<exec::StepProfile> MatrixProduct::steps() const {
  return session_ == nullptr ? std::vector<exec::StepProfile>() : session_->profile();
}

std::string MatrixProduct::kernels() const {
  std::string text;
  for (const exec::StepProfile& step : steps()) text += (text.empty() ? "" : " + ") + step.kernel;
  return text;
}

}  // namespace fettle::runtime
