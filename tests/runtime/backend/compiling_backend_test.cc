// A backend that compiles, by its own folder (tests/annex) and its row alone: its programs are
// compiled here or elsewhere, counted, and handed on.
#include <gtest/gtest.h>

#include "device/compile_elsewhere.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "runtime/device_choice.h"
#include "runtime/session.h"
#include "tests/annex/annex_backend.h"

namespace fettle::runtime {
namespace {

constexpr std::string_view kReluAndAdd = R"(input %x: f32[1x2x3x4]
%a = Relu(%x)
%b = Add(%a, %x)
output %b
)";

class CompilingBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    kernels::AddBackend(kernels::AnnexBackend());
    annex_ = OpenAccelerator("annex").value();
    graph_ = ops::Parse(kReluAndAdd).value();
    ASSERT_TRUE(ops::InferGraph(graph_).ok());
    inputs_ = ir::NoiseInputs(graph_, 1).value();
  }
  Status Run() {
    const auto model = Model::FromGraph(graph_, "net").value();
    ASSIGN_OR_RETURN(
        const auto session,
        Session::Create(model, {.threads = 1, .accelerators = {annex_}, .accelerator_only = true}));
    TensorMap outputs;
    return session->Run({{"x", inputs_[0]}}, &outputs);
  }

  std::shared_ptr<const Device> annex_;
  ir::Graph graph_;
  std::vector<Tensor> inputs_;
};

TEST_F(CompilingBackendTest, CompilesAProgramOnce) {
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(annex_->program_statistics().built, 2);
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(annex_->program_statistics().built, 2);
}

TEST_F(CompilingBackendTest, HandsItsProgramsOn) {
  ASSERT_TRUE(Run().ok());
  const std::vector<ProgramBinary> programs = annex_->ExportPrograms();
  ASSERT_EQ(programs.size(), 2u);
  annex_ = std::make_shared<const AnnexDevice>();
  annex_->ImportPrograms(programs);
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(annex_->program_statistics().built, 0);
  EXPECT_EQ(annex_->program_statistics().from_package, 2);
}

TEST_F(CompilingBackendTest, CompilesElsewhereByItsRow) {
  const int before = CompiledElsewhere();
  {
    const auto held = kernels::CompileElsewhere("annex", {.at_once = 3});
    EXPECT_EQ(CompilesAtOnce(), 3);
    ASSERT_TRUE(Run().ok());
  }
  EXPECT_EQ(CompiledElsewhere(), before + 2);
  EXPECT_EQ(CompilesAtOnce(), 0);
  const Result<int> served = kernels::ServeCompiles("annex");
  ASSERT_TRUE(served.ok());
  EXPECT_EQ(*served, 0);
}

TEST_F(CompilingBackendTest, NothingIsCompiledForTheCpu) {
  EXPECT_EQ(kernels::CompileElsewhere("cpu", {.at_once = 3}), nullptr);
  EXPECT_EQ(kernels::CompileElsewhere("auto", {.at_once = 3}), nullptr);
  EXPECT_EQ(CompilesAtOnce(), 0);
  EXPECT_EQ(kernels::ServeCompiles("cpu").status().message(), "cpu compiles nothing");
}

TEST_F(CompilingBackendTest, AProgramThatDoesNotBuildIsAnErrorOfItsKernel) {
  AnnexPrograms::Elsewhere() = [](const std::string&) -> Result<std::string> {
    return Error(StatusCode::kBuildFailed, "no compiler");
  };
  const Status status = Run();
  AnnexPrograms::Elsewhere() = nullptr;
  EXPECT_GT(annex_->program_statistics().failed, 0) << status.message();
}

}  // namespace
}  // namespace fettle::runtime
