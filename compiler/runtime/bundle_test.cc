#include "compiler/runtime/bundle.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/model.h"
#include "compiler/runtime/section_digest.h"
#include "compiler/runtime/section_file.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "compiler/runtime/thread_pool.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::vector<float> PackedWeights() { return std::vector<float>(kTestCount, 1.0f); }

TEST(BundleTest, ReadsBackWhatWasWritten) {
  const std::string bytes = TestBundle();
  auto reader = BundleReader::FromBytes(AsBytes(bytes));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->manifest(), TestBundleManifest());
  auto elf = reader->ReadElf();
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(*elf, TestElf());
  std::vector<float> weights(kTestCount);
  ASSERT_TRUE(reader->ReadWeights(AsWritableBytes(weights), /*check_hash=*/true).ok());
  EXPECT_EQ(std::vector<float>(weights.rbegin(), weights.rend()), TestWeights());
}

TEST(BundleTest, EqualInputGivesEqualBytes) { EXPECT_EQ(TestBundle(), TestBundle()); }

TEST(BundleTest, SectionsAreAlignedToPages) {
  const std::string bytes = TestBundle();
  auto file = SectionFile::Open(kBundleFormat, MemorySource(AsBytes(bytes)));
  ASSERT_TRUE(file.ok());
  for (SectionKind kind : {SectionKind::kManifest, SectionKind::kElf, SectionKind::kWeights}) {
    ASSERT_NE(file->Find(kind), nullptr);
    EXPECT_EQ(file->Find(kind)->offset % 4096, 0u);
  }
}

// Short manifests and ELF, so that each byte can be tried in a second.
std::string SmallBundle() {
  BundleManifest manifest;
  manifest.model_name = "small";
  manifest.weights_bytes = 40;
  manifest.arena_bytes = 64;
  manifest.inputs = {{DenseTensor("x", ElementType::kF32, {1}), 4}};
  manifest.outputs = {{DenseTensor("y", ElementType::kF32, {1}), 4}};
  const std::vector<uint8_t> elf = TestElf(), weights(40, 1);
  return *WriteBundle(manifest, elf, weights);
}

TEST(BundleTest, TruncatedAtAnyByteIsRefused) {
  const std::string bytes = SmallBundle();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + size);  // ASan sees its end.
    EXPECT_FALSE(BundleReader::FromBytes(cut).ok()) << "cut at " << size;
  }
}

// Wherever the damage is, opening or reading a section notices it.
TEST(BundleTest, AnySingleDamagedByteIsRefused) {
  const std::string bytes = SmallBundle();
  const ModelOptions options = {.host_features = std::vector<std::string>()};
  for (size_t position = 0; position < bytes.size(); ++position) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ (1 << position % 8));
    EXPECT_FALSE(Model::LoadBytes(AsBytes(damaged), options).ok()) << "byte " << position;
  }
}

// More than one thread reads it where there is more than one CPU.
TEST(BundleTest, ALargeSectionIsCheckedInEachOfItsChunks) {
  std::vector<uint8_t> weights(5 * kSectionChunkBytes + 100);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(i * 7 + i / 4096);
  std::string bytes = WriteSectionFile(kBundleFormat, {{SectionKind::kWeights, weights}});
  const uint64_t offset = bytes.size() - weights.size();
  const auto read = [&bytes]() -> RuntimeOr<std::vector<uint8_t>> {
    RUNTIME_ASSIGN_OR_RETURN(const SectionFile file,
                             SectionFile::Open(kBundleFormat, MemorySource(AsBytes(bytes))));
    return file.Read(SectionKind::kWeights);
  };
  auto got = read();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(*got, weights);
  for (uint64_t position : {uint64_t{0}, kSectionChunkBytes - 1, kSectionChunkBytes,
                            3 * kSectionChunkBytes + 5, weights.size() - 1}) {
    bytes[offset + position] ^= 1;
    EXPECT_EQ(read().status().code(), RuntimeCode::kDataLoss) << "byte " << position;
    bytes[offset + position] ^= 1;
  }
  EXPECT_TRUE(read().ok());
}

// By the definition, with no chunk but the last shorter than the others.
TEST(SectionDigestTest, IsTheHashOfTheChunksHashes) {
  std::vector<uint8_t> bytes(2 * kSectionChunkBytes + 1, 3);
  Sha256 chunks;
  for (uint64_t begin = 0; begin < bytes.size(); begin += kSectionChunkBytes) {
    const Sha256Digest digest =
        Sha256Of(bytes.data() + begin, std::min(kSectionChunkBytes, bytes.size() - begin));
    chunks.Update(digest.data(), digest.size());
  }
  EXPECT_EQ(SectionDigest(bytes), chunks.Digest());
  EXPECT_EQ(SectionDigest({}), Sha256Of(nullptr, 0));
}

TEST(BundleTest, BytesBehindTheEndAreRefused) {
  EXPECT_FALSE(BundleReader::FromBytes(AsBytes(SmallBundle() + '\0')).ok());
}

// Below the hashes: what a hostile writer could make.
TEST(BundleManifestTest, DamagedBytesDecodeToAnErrorOrToSomethingThatIsChecked) {
  const std::string bytes = EncodeManifest(TestBundleManifest());
  int decoded_count = 0, accepted_count = 0;
  for (size_t position = 0; position < bytes.size(); ++position) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[position] = static_cast<char>(value);
      auto manifest = DecodeManifest(AsBytes(damaged));
      if (!manifest.ok()) continue;
      ++decoded_count;
      accepted_count += CheckManifest(*manifest).ok();
    }
  }
  EXPECT_GT(decoded_count, accepted_count);  // The check refuses things that decode.
  EXPECT_GT(accepted_count, 0);              // A changed name is as good as another.
}

// With hashes that fit, up to the memory of a session: an error or a session, never a crash.
TEST(BundleManifestTest, HostileManifestsLoadOrAreRefused) {
  const std::string bytes = EncodeManifest(TestBundleManifest());
  const std::vector<uint8_t> elf = TestElf();
  const std::vector<float> weights = PackedWeights();
  const ModelOptions options = {.host_features = std::vector<std::string>()};
  auto created_pool = ThreadPool::Create({.thread_count = 1});
  ASSERT_TRUE(created_pool.ok());
  const std::shared_ptr<ThreadPool> pool = *std::move(created_pool);
  int session_count = 0, refused_count = 0;
  for (size_t position = 0; position < bytes.size(); ++position) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 0xc1);
    const std::string file =
        WriteSectionFile(kBundleFormat, {{SectionKind::kManifest, AsBytes(damaged)},
                                         {SectionKind::kElf, elf},
                                         {SectionKind::kWeights, AsBytes(weights)}});
    auto model = Model::LoadBytes(AsBytes(file), options);
    const bool is_session = model.ok() && Session::Create(*model, pool).ok();
    ++(is_session ? session_count : refused_count);
  }
  EXPECT_GT(session_count, 0);
  EXPECT_GT(refused_count, 0);
}

TEST(BundleManifestTest, TruncatedAtAnyByteIsRefused) {
  const std::string bytes = EncodeManifest(TestBundleManifest());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + size);
    EXPECT_FALSE(DecodeManifest(cut).ok()) << "cut at " << size;
  }
}

TEST(BundleManifestTest, AHugeCountDoesNotTakeMemory) {
  std::string bytes = EncodeManifest(BundleManifest());
  // After abi_version: the length of model_name.
  for (size_t i = 4; i < 8; ++i) bytes[i] = '\xff';
  EXPECT_EQ(DecodeManifest(AsBytes(bytes)).status().code(), RuntimeCode::kDataLoss);
}

// Each of these would make the runtime leave its memory.
class BundleManifestCheckTest : public ::testing::Test {
 protected:
  std::string Reason() const {
    const RuntimeStatus status = CheckManifest(manifest_);
    EXPECT_EQ(WriteBundle(manifest_, TestElf(), AsBytes(PackedWeights())).ok(), status.ok());
    return status.message();
  }
  BundleManifest manifest_ = TestBundleManifest();
};

TEST_F(BundleManifestCheckTest, TheTestModelIsFine) { EXPECT_EQ(Reason(), ""); }

TEST_F(BundleManifestCheckTest, ABufferBehindTheArenaIsRefused) {
  manifest_.steps[0].buffers[2].offset_bytes = 8192;
  EXPECT_EQ(Reason(),
            "step \"scale\": buffer 2: got 4000 bytes at offset 8192 of a region of 8192");
}

TEST_F(BundleManifestCheckTest, AnOffsetThatOverflowsIsRefused) {
  manifest_.steps[0].buffers[2].offset_bytes = ~uint64_t{63};
  EXPECT_NE(Reason(), "");
}

TEST_F(BundleManifestCheckTest, AMisalignedBufferIsRefused) {
  manifest_.steps[0].buffers[2].offset_bytes = 4;
  EXPECT_EQ(Reason(), "step \"scale\": buffer 2: got offset 4, want a multiple of 64");
}

TEST_F(BundleManifestCheckTest, AStepThatWritesWeightsIsRefused) {
  manifest_.steps[1].buffers[1] = {Region::kWeights, 0, 0};
  EXPECT_EQ(Reason(), "step \"reverse\": buffer 1: it would write weights or a model input");
}

TEST_F(BundleManifestCheckTest, AnUnknownKernelIsRefused) {
  manifest_.steps[1].kernel = 99;
  EXPECT_EQ(Reason(), "step \"reverse\": got kernel 99 of 7");
}

TEST_F(BundleManifestCheckTest, AnUnknownInputIsRefused) {
  manifest_.steps[0].buffers[0].index = 3;
  EXPECT_EQ(Reason(), "step \"scale\": buffer 0: got region 3 number 3, which does not exist");
}

TEST_F(BundleManifestCheckTest, AStrideBehindTheStorageIsRefused) {
  manifest_.inputs[2].tensor.strides[0] = 10;
  EXPECT_EQ(Reason(), "tensor \"image\": it needs 92 bytes at offset 24 of 100");
}

TEST_F(BundleManifestCheckTest, ExtentsThatOverflowAreRefused) {
  manifest_.inputs[0].tensor.shape = {int64_t{1} << 62, int64_t{1} << 62};
  EXPECT_EQ(Reason(), "tensor \"x\": too large");
}

TEST_F(BundleManifestCheckTest, AFillBehindItsRegionIsRefused) {
  manifest_.fills[0].repeat_count = 2;
  manifest_.fills[0].repeat_stride_bytes = 100;
  EXPECT_EQ(Reason(), "got 200 bytes at offset 0 of a region of 100");
}

TEST_F(BundleManifestCheckTest, AFillWithoutEndIsRefused) {
  manifest_.fills[0].size_bytes = 0;
  manifest_.fills[0].repeat_count = uint64_t{1} << 39;
  EXPECT_EQ(Reason(), "fill: its runs overlap");
}

TEST_F(BundleManifestCheckTest, AnInPlacePairOfInputsIsRefused) {
  manifest_.kernels[kAddKernel].compute.in_place = {{.output = 1, .input = 0}};
  EXPECT_EQ(Reason(), "got an in-place pair that does not name an output and an input");
}

NumberNotes Notes() {
  return {
      .step_types = std::vector<ElementType>(TestBundleManifest().steps.size(), ElementType::kBf16),
      .error = 0.0125,
      .measured_on = "8 examples of /data"};
}

TEST(BundleTest, NotesAreReadAsTheyWereWritten) {
  BundleManifest manifest = TestBundleManifest();
  manifest.notes = Notes();
  const auto noted = WriteBundle(manifest, TestElf(), AsBytes(PackedWeights()));
  ASSERT_TRUE(noted.ok()) << noted.status().message();
  const auto reader = BundleReader::FromBytes(AsBytes(*noted));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->manifest(), manifest);
  EXPECT_TRUE(Model::LoadBytes(AsBytes(*noted), {}).ok());
}

TEST(BundleTest, NotesThatAreNotOfTheStepsAreRefused) {
  const auto code_of = [](const NumberNotes& notes) {
    BundleManifest manifest = TestBundleManifest();
    manifest.notes = notes;
    return WriteBundle(manifest, TestElf(), AsBytes(PackedWeights())).status().code();
  };
  NumberNotes notes = Notes();
  notes.step_types.pop_back();
  EXPECT_EQ(code_of(notes), RuntimeCode::kInvalidArgument);
  notes = Notes();
  notes.step_types[0] = static_cast<ElementType>(99);
  EXPECT_EQ(code_of(notes), RuntimeCode::kInvalidArgument);
  notes = Notes();
  notes.error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code_of(notes), RuntimeCode::kInvalidArgument);
}

TEST(BundleTest, WeightsOfAnotherSizeAreNotWritten) {
  EXPECT_FALSE(WriteBundle(TestBundleManifest(), TestElf(), {}).ok());
}

TEST(BundleTest, WeightsInPiecesAreTheSameFile) {
  const std::vector<float> packed = PackedWeights();
  const std::span<const uint8_t> weights = AsBytes(packed);
  const auto pieces =
      WriteBundleOfPieces(TestBundleManifest(), TestElf(),
                          {weights.first(5), {}, weights.subspan(5, 60), weights.subspan(65)});
  ASSERT_TRUE(pieces.ok()) << pieces.status().message();
  EXPECT_EQ(*pieces, *WriteBundle(TestBundleManifest(), TestElf(), weights));
}

TEST(BundleTest, AMissingFileIsNotFound) {
  const auto reader = BundleReader::OpenFile("no/such/file");
  EXPECT_EQ(reader.status().code(), RuntimeCode::kNotFound);
  EXPECT_EQ(reader.status().message(), "no/such/file: No such file or directory");
}

TEST(BundleTest, AFolderOrDeviceIsNoBundle) {
  EXPECT_EQ(BundleReader::OpenFile("/").status().code(), RuntimeCode::kInvalidArgument);
  EXPECT_EQ(BundleReader::OpenFile("/dev/zero").status().code(), RuntimeCode::kInvalidArgument);
}

}  // namespace
}  // namespace burnish
