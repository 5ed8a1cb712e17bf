// fettle.h: the matrix product.
#include "kernels/cpu/gemm/gemm.h"

#include "capi/handles.h"
#include "capi/parts.h"
#include "capi/structs.h"
#include "device/cpu/cpu_device.h"
#include "runtime/device_choice.h"

using fettle::CpuDevice;
using fettle::DType;
using fettle::InvalidArgument;
using fettle::OkStatus;
using fettle::Result;
using fettle::Status;
using fettle::capi::FromC;
using fettle::capi::Guard;
using fettle::runtime::MatrixProduct;
using fettle::runtime::ProductProblem;
using fettle::runtime::SessionOptions;

struct fettle_gemm {
  std::unique_ptr<MatrixProduct> product;
  std::string kernels;
};

namespace {

Status SetTypes(const fettle_gemm_options& options, ProductProblem& problem) {
  const auto type = [](fettle_dtype given, DType otherwise) {
    return given == FETTLE_UNDEFINED ? otherwise : FromC(given);
  };
  problem.a = type(options.dtype_a, DType::kF32);
  problem.b = type(options.dtype_b, problem.a);
  const bool is_byte = problem.a == DType::kI8 || problem.a == DType::kU8;
  problem.c = type(options.dtype_c, is_byte ? DType::kI32 : problem.a);
  for (const DType one : {problem.a, problem.b, problem.c})
    if (one == DType::kUndefined)
      return InvalidArgument("gemm: a dtype that is not a value of fettle_dtype");
  return OkStatus();
}

Status SetDevice(const fettle_gemm_options& options, SessionOptions& session) {
  RETURN_IF_ERROR(fettle::runtime::CheckThreads(options.threads));
  session.threads = options.threads;
  ASSIGN_OR_RETURN(
      const std::shared_ptr<const fettle::Device> device,
      fettle::runtime::OpenAccelerator(options.device == nullptr ? "auto" : options.device,
                                       {.programs = options.database}));
  if (device != nullptr) session.accelerators = {device};
  ASSIGN_OR_RETURN(session.precision,
                   fettle::runtime::PrecisionFromName(
                       options.precision == nullptr ? "high" : options.precision));
  ASSIGN_OR_RETURN(session.subnormals,
                   fettle::runtime::SubnormalsFromName(
                       options.subnormals == nullptr ? "flush" : options.subnormals));
  return OkStatus();
}

/// The option that is wrong is named before anything is made.
Result<std::unique_ptr<MatrixProduct>> Create(ProductProblem problem,
                                              const fettle_gemm_options& options) {
  if (options.batch < 0)
    return InvalidArgument("gemm: batch {}: expected 0 or more", options.batch);
  problem.batch = options.batch == 0 ? 1 : options.batch;
  problem.trans_a = options.transpose_a != 0;
  problem.trans_b = options.transpose_b != 0;
  RETURN_IF_ERROR(SetTypes(options, problem));
  if (!(options.tune_seconds >= 0)) return InvalidArgument("tune_seconds: expected 0 or more");
  ASSIGN_OR_RETURN(const fettle::capi::ProductTuning tuning, fettle::capi::TuningOf(options));
  SessionOptions session{.plans = tuning.plans};
  RETURN_IF_ERROR(SetDevice(options, session));
  ASSIGN_OR_RETURN(std::unique_ptr<MatrixProduct> made,
                   MatrixProduct::Create(problem,
                                         {.lda = options.lda,
                                          .ldb = options.ldb,
                                          .ldc = options.ldc,
                                          .a = options.stride_a,
                                          .b = options.stride_b,
                                          .c = options.stride_c},
                                         options.b, std::move(session)));
  if (tuning.tune) RETURN_IF_ERROR(tuning.tune(*made));
  return made;
}

/// One pool for all products of the process, made by the first of them.
const CpuDevice& SharedDevice() {
  static const CpuDevice device(std::make_shared<fettle::ThreadPool>(fettle::GetCpuInfo().cores));
  return device;
}

}  // namespace

fettle_status fettle_sgemm(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k,
                           float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
                           float beta, float* c, int64_t ldc, int threads) {
  return Guard([&]() -> Status {
    RETURN_IF_ERROR(fettle::runtime::CheckThreads(threads));
    if (m > 0 && n > 0) FETTLE_REQUIRE(c);
    if (m > 0 && n > 0 && k > 0) {
      FETTLE_REQUIRE(a);
      FETTLE_REQUIRE(b);
    }
    const CpuDevice& device = SharedDevice();
    fettle::CpuStream stream(device, threads == 0 ? device.pool().threads() : threads);
    return fettle::kernels::Gemm({.m = m,
                                  .n = n,
                                  .k = k,
                                  .alpha = alpha,
                                  .beta = beta,
                                  .a = a,
                                  .lda = lda,
                                  .transpose_a = transpose_a != 0,
                                  .b = b,
                                  .ldb = ldb,
                                  .transpose_b = transpose_b != 0,
                                  .c = c,
                                  .ldc = ldc},
                                 device, stream);
  });
}

fettle_status fettle_gemm_create(int64_t m, int64_t n, int64_t k, double alpha, double beta,
                                 const fettle_gemm_options* options, fettle_gemm** gemm) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(gemm);
    fettle_gemm_options given = {};
    if (options != nullptr) {
      ASSIGN_OR_RETURN(given, fettle::capi::ReadStruct(options));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<MatrixProduct> product,
                     Create({.m = m, .n = n, .k = k, .alpha = alpha, .beta = beta}, given));
    *gemm = new fettle_gemm{std::move(product), {}};
    return OkStatus();
  });
}

fettle_status fettle_gemm_run(fettle_gemm* gemm, const void* a, const void* b, void* c) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(gemm);
    gemm->kernels.clear();
    RETURN_IF_ERROR(gemm->product->Run(a, b, c));
    gemm->kernels = gemm->product->kernels();
    return OkStatus();
  });
}

const char* fettle_gemm_kernels(const fettle_gemm* gemm) {
  return gemm == nullptr ? "" : gemm->kernels.c_str();
}

void fettle_gemm_free(fettle_gemm* gemm) { delete gemm; }
