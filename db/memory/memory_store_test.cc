#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "db/record_store_conformance.h"
#include "db/study_store_conformance.h"

namespace burnish {
namespace {

std::unique_ptr<RecordStore> MakeRecords() { return std::make_unique<MemoryRecordStore>(); }
std::unique_ptr<StudyStore> MakeStudies() { return std::make_unique<MemoryStudyStore>(); }

INSTANTIATE_TEST_SUITE_P(Memory, RecordStoreConformanceTest, ::testing::Values(&MakeRecords));
INSTANTIATE_TEST_SUITE_P(Memory, StudyStoreConformanceTest, ::testing::Values(&MakeStudies));

}  // namespace
}  // namespace burnish
