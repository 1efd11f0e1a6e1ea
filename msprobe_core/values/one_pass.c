/* Max, Min, sums and sketch of a row of elements on the CPU, each of them read once.
 *
 * What it computes, and to which digits, is what numbers.py and sketch.py do with torch: sums in
 * float64, columns of the sketch in float32 over at most CHUNK rows, then in float64. What is not
 * finite is left to them.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define PROJECTIONS 8
#define BLOCK 127                 /* columns that share the sign of a row */
#define COLUMNS (PROJECTIONS * BLOCK) /* a whole number of vectors */
#define CHUNK 320                 /* rows whose columns are summed in float32 */
#define GROUP 32                  /* rows whose numbers are summed before they join the total */
#define LANES 8

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef int32_t masks __attribute__((vector_size(4 * LANES)));

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE static inline __attribute__((always_inline))

struct sums {
    floats low, high;
    doubles total, squares;
};

/* The finaliser of MurmurHash3 (32 bits): bit k is the sign of projection or block k. */
INLINE uint32_t hash(uint32_t h) {
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    return h ^ (h >> 16);
}

INLINE void add(struct sums *s, const float *x) {
    floats v;
    memcpy(&v, x, sizeof v);
    masks below = v < s->low, above = v > s->high;
    s->low = (floats)(((masks)v & below) | ((masks)s->low & ~below));
    s->high = (floats)(((masks)v & above) | ((masks)s->high & ~above));
    doubles wide = __builtin_convertvector(v, doubles);
    s->total += wide;
    s->squares += wide * wide;
}

/* Take the least, the largest and the sums of `size` elements more. */
INLINE void take_numbers(struct sums *s, const float *x, int64_t size) {
    int64_t at = 0;
    for (; at + LANES <= size; at += LANES) add(s, x + at);
    for (; at < size; at++) {
        float v = x[at];
        if (v < s->low[0]) s->low[0] = v;
        if (v > s->high[0]) s->high[0] = v;
        s->total[0] += v;
        s->squares[0] += (double)v * v;
    }
}

INLINE void take_columns(float *columns, const float *x, int64_t size, uint32_t bits) {
    for (int block = 0; block * BLOCK < size; block++) {
        const float sign = bits >> block & 1 ? -1.0f : 1.0f;
        const int64_t first = block * BLOCK, left = size - first;
        float *restrict into = columns + first;
        const float *restrict from = x + first;
        if (left >= BLOCK) {
            for (int c = 0; c < BLOCK; c++) into[c] += sign * from[c];
        } else {
            for (int c = 0; c < left; c++) into[c] += sign * from[c];
        }
    }
}

/* The elements of a row as floats, beside each other: where they lie, if they lie so. */
INLINE const float *as_floats(float *row, const void *data, int64_t at, int64_t count,
                              int64_t stride, int is_bfloat16) {
    if (!is_bfloat16) {
        const float *from = (const float *)data + at * stride;
        if (stride == 1) return from;
        for (int64_t c = 0; c < count; c++) row[c] = from[c * stride];
        return row;
    }
    const uint16_t *from = (const uint16_t *)data + at * stride;
    for (int64_t c = 0; c < count; c++) {
        const uint32_t bits = (uint32_t)from[c * stride] << 16;
        memcpy(row + c, &bits, sizeof bits);
    }
    return row;
}

/* Add what the lanes have summed to the totals, and empty them: long sums of equal terms would err. */
INLINE void fold(struct sums *s, double *total, double *squares) {
    double sum = 0, square = 0;
    for (int lane = 0; lane < LANES; lane++) {
        sum += s->total[lane];
        square += s->squares[lane];
    }
    *total += sum, *squares += square;
    memset(&s->total, 0, sizeof s->total);
    memset(&s->squares, 0, sizeof s->squares);
}

/* `stride` counts elements. found: high, low, sum, sum of squares, then the projections where `sketched` is not 0. Returns 0,
 * or 1 where an element is not finite and nothing of `found` counts.
 */
INLINE int measure(const void *data, int64_t size, int64_t stride, int is_bfloat16, int sketched,
                   double *found) {
    float columns[COLUMNS] = {0}, row[COLUMNS] = {0};
    double folded[COLUMNS] = {0}, total = 0, squares = 0;
    const int64_t width = size < COLUMNS ? size : COLUMNS;
    struct sums s = {0};
    for (int lane = 0; lane < LANES; lane++) s.low[lane] = INFINITY, s.high[lane] = -INFINITY;
    int64_t at = 0;
    for (uint32_t number = 0; at < size; number++, at += COLUMNS) {
        const int64_t count = size - at < COLUMNS ? size - at : COLUMNS;
        const int is_last = at + COLUMNS >= size;
        const float *x = as_floats(row, data, at, count, stride, is_bfloat16);
        take_numbers(&s, x, count);
        if (number % GROUP == GROUP - 1 || is_last) fold(&s, &total, &squares);
        if (!sketched) continue;
        take_columns(columns, x, count, hash(COLUMNS + number));
        if (number % CHUNK == CHUNK - 1 || is_last) {
            for (int64_t c = 0; c < width; c++) folded[c] += columns[c];
            memset(columns, 0, sizeof columns);
        }
    }
    if (!isfinite(squares)) return 1;
    float low = s.low[0], high = s.high[0];
    for (int lane = 1; lane < LANES; lane++) {
        low = s.low[lane] < low ? s.low[lane] : low;
        high = s.high[lane] > high ? s.high[lane] : high;
    }
    found[0] = high, found[1] = low, found[2] = total, found[3] = squares;
    if (!sketched) return 0;
    double *projections = found + 4;
    memset(projections, 0, PROJECTIONS * sizeof *projections);
    for (int64_t c = 0; c < width; c++) {
        const uint32_t bits = hash((uint32_t)c);
        for (int k = 0; k < PROJECTIONS; k++)
            projections[k] += bits >> k & 1 ? -folded[c] : folded[c];
    }
    return 0;
}

FOR_EACH_PROCESSOR
int msprobe_measure_float32(const void *data, int64_t size, int64_t stride, int sketched,
                         double *found) {
    return measure(data, size, stride, 0, sketched, found);
}

FOR_EACH_PROCESSOR
int msprobe_measure_bfloat16(const void *data, int64_t size, int64_t stride, int sketched,
                          double *found) {
    return measure(data, size, stride, 1, sketched, found);
}
