// Structs of other sizes than today's, through libfettle.so alone. Programs of an older header:
// frozen_0_1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fettle/fettle.hpp"

namespace {

using ::testing::HasSubstr;

/// A struct of a later header, with members that this library does not know.
template <typename T>
struct Newer {
  T known;
  int64_t unknown[3] = {0, 0, 0};
};

fettle_model* LoadDemo() {
  fettle_model* model = nullptr;
  EXPECT_EQ(fettle_model_load(FETTLE_DEMO_MODEL, &model), FETTLE_OK);
  return model;
}

class Structs : public ::testing::Test {
 protected:
  ~Structs() override { fettle_model_free(model_); }
  fettle_status Create(const fettle_session_options& options) {
    fettle_session* session = nullptr;
    const fettle_status code = fettle_session_create(model_, &options, &session);
    fettle_session_free(session);
    return code;
  }
  fettle_model* model_ = LoadDemo();
};

TEST_F(Structs, ASizeOfZeroIsRefusedWithItsRemedy) {
  fettle_session_options options = {};
  EXPECT_EQ(Create(options), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("fettle_session_options: struct_size is 0"));
  fettle_value_info info = {};
  EXPECT_EQ(fettle_model_input(model_, 0, &info), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("fettle_value_info: struct_size is 0"));
  fettle_tuner* tuner = nullptr;
  ASSERT_EQ(fettle_tuner_create("sizes", &tuner), FETTLE_OK);
  fettle_tuner_options tuner_options = {};
  EXPECT_EQ(fettle_tuner_set_options(tuner, &tuner_options), FETTLE_INVALID_ARGUMENT);
  fettle_tuner_callbacks callbacks = {};
  EXPECT_EQ(fettle_tuner_run(tuner, &callbacks), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("fettle_tuner_callbacks: struct_size is 0"));
  fettle_tuner_state state = {};
  EXPECT_EQ(fettle_tuner_get_state(tuner, &state), FETTLE_INVALID_ARGUMENT);
  fettle_tuner_free(tuner);
}

TEST_F(Structs, ASizeOfNoVersionIsRefused) {
  fettle_session_options options = FETTLE_SESSION_OPTIONS_INIT;
  for (const size_t size : {size_t{1}, sizeof(size_t), sizeof(options) - 1, size_t{1} << 40}) {
    options.struct_size = size;
    EXPECT_EQ(Create(options), FETTLE_INVALID_ARGUMENT) << size;
    EXPECT_THAT(fettle_last_error(), HasSubstr("which no version has"));
  }
}

TEST_F(Structs, OptionsOfANewerHeaderMayBeThereButNotSet) {
  Newer<fettle_session_options> options = {FETTLE_SESSION_OPTIONS_INIT};
  options.known.struct_size = sizeof(options);
  EXPECT_EQ(Create(options.known), FETTLE_OK);
  options.unknown[1] = 1;
  EXPECT_EQ(Create(options.known), FETTLE_UNSUPPORTED);
  EXPECT_THAT(fettle_last_error(), HasSubstr("a member is set that fettle"));
}

TEST_F(Structs, ResultsOfANewerHeaderBecomeZero) {
  Newer<fettle_value_info> info = {FETTLE_VALUE_INFO_INIT, {7, 7, 7}};
  info.known.struct_size = sizeof(info);
  ASSERT_EQ(fettle_model_input(model_, 0, &info.known), FETTLE_OK);
  EXPECT_EQ(info.known.struct_size, sizeof(info));
  EXPECT_EQ(info.known.rank, 4);
  for (const int64_t unknown : info.unknown) EXPECT_EQ(unknown, 0);
}

TEST_F(Structs, ARefusedTuneReportCostsNoTuning) {
  fettle_session* session = nullptr;
  ASSERT_EQ(fettle_session_create(model_, nullptr, &session), FETTLE_OK);
  fettle_tune_report report = {};
  EXPECT_EQ(fettle_session_tune(session, nullptr, &report), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(fettle_last_error(), HasSubstr("fettle_tune_report: struct_size is 0"));
  fettle_session_free(session);
}

}  // namespace
