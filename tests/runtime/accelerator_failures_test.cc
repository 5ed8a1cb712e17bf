// What becomes of a session whose accelerator fails: the CPU computes, and a warning says why.
#include <gmock/gmock.h>

#include "base/log.h"
#include "ops/op.h"
#include "runtime/session.h"
#include "tests/device/fake_opencl.h"

namespace fettle::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AcceleratorFailures : public testing::Test {
 protected:
  AcceleratorFailures() {
    SetLogSink([this](LogLevel, std::string_view line) { warnings_ += std::string(line) + "\n"; },
               LogLevel::kWarn);
  }
  ~AcceleratorFailures() override { SetLogSink(nullptr, LogLevel::kWarn); }

  /// The result of relu(-1, 2) on the fake device, which computes nothing.
  Result<std::vector<float>> Run(bool accelerator_only,
                                 planner::Precision precision = planner::Precision::kHigh) {
    ASSIGN_OR_RETURN(ir::Graph graph, ops::Parse("input %x: f32[2]\n%y = Relu(%x)\noutput %y\n"));
    ASSIGN_OR_RETURN(auto model, Model::FromGraph(std::move(graph), "model"));
    ASSIGN_OR_RETURN(const auto session,
                     Session::Create(std::move(model), {.threads = 1,
                                                        .accelerators = {device_},
                                                        .accelerator_only = accelerator_only,
                                                        .precision = precision}));
    TensorMap outputs;
    ASSIGN_OR_RETURN(Tensor x, Tensor::FromVector<float>({2}, {-1, 2}));
    RETURN_IF_ERROR(session->Run({{"x", std::move(x)}}, &outputs));
    const std::span<float> y = outputs.at("y").as<float>();
    return std::vector<float>(y.begin(), y.end());
  }
  void ExpectTheCpu(std::string_view reason) {
    const auto result = Run(false);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_THAT(*result, ElementsAre(0, 2));
    EXPECT_THAT(warnings_, HasSubstr("'fake' fails, the CPU computes instead: "));
    EXPECT_THAT(warnings_, HasSubstr(std::string(reason)));
  }

  FakeOpenCl fake_;
  std::shared_ptr<const Device> device_ = fake_.Open();
  std::string warnings_;
};

TEST_F(AcceleratorFailures, TheFakeDeviceIsUsedWhereItWorks) {
  ASSERT_TRUE(Run(false).ok());
  EXPECT_GT(fake_.commands.size(), 0u);
  EXPECT_EQ(warnings_, "");
}

TEST_F(AcceleratorFailures, APlanThatDoesNotBuild) {
  fake_.build_result = CL_BUILD_PROGRAM_FAILURE;
  ExpectTheCpu("the log of the compiler");
}

TEST_F(AcceleratorFailures, NoMemory) {
  fake_.allocation_result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  ExpectTheCpu("CL_MEM_OBJECT_ALLOCATION_FAILURE");
}

TEST_F(AcceleratorFailures, ADeviceThatIsLostInARun) {
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  ExpectTheCpu("CL_OUT_OF_RESOURCES");
}

TEST_F(AcceleratorFailures, ADeviceThatComputesOtherValuesAtAnyPrecision) {
  const auto result = Run(false, planner::Precision::kNormal);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, ElementsAre(0, 2));
  EXPECT_THAT(warnings_, HasSubstr("'fake' computes other values than the CPU"));
  EXPECT_EQ(Run(true, planner::Precision::kNormal).status().code(), StatusCode::kDeviceError);
}

TEST_F(AcceleratorFailures, AreErrorsWhereNothingElseMayCompute) {
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(Run(true).status().code(), StatusCode::kDeviceError);
  fake_.build_result = CL_BUILD_PROGRAM_FAILURE;
  fake_.wait_result = CL_SUCCESS;
  device_ = fake_.Open();
  EXPECT_EQ(Run(true).status().code(), StatusCode::kBuildFailed);
}

}  // namespace
}  // namespace fettle::runtime
