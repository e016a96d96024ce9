/* The interface as C sees it: sizes, places and signatures, written down once more by hand, so that a change of the table that breaks
 * programs shows; and calls that are wrong. Prints nothing and returns 0 if all is right, otherwise prints the line. The argument is the
 * folder of this file, where a configuration and its class of elements are. */
#include <netvm.h>
#include <stdio.h>
#include <string.h>

#define HOLDS(condition) \
    do { \
        if (!(condition)) \
            return __LINE__; \
    } while (0)

static int layout(void)
{
    const char *(*version)(void) = netvm_version;
    int (*compile)(const char *, uint32_t, const char *, netvm_filter **, char **) = netvm_filter_compile;
    int (*another)(const netvm_filter *, netvm_filter **, char **) = netvm_filter_another;
    int (*select)(netvm_filter *, const netvm_packet *, size_t, uint64_t *) = netvm_filter_select;
    int (*matches)(netvm_filter *, const netvm_packet *) = netvm_filter_matches;
    char *(*detail)(const netvm_filter *) = netvm_filter_detail;
    void (*free_filter)(netvm_filter *) = netvm_filter_free;
    void (*free_string)(char *) = netvm_string_free;
    int (*open_with)(const char *, const netvm_reading *, const char *, netvm_application **, char **) = netvm_application_open_with;
    int (*open_file)(const char *, const netvm_reading *, const char *, netvm_application **, char **) = netvm_application_open_file;
    int (*stage_with)(netvm_pipeline *, const netvm_stage *, const netvm_reading *, char **) = netvm_pipeline_stage_with;
    HOLDS(version && compile && another && select && matches && detail && free_filter && free_string);
    HOLDS(open_with && open_file && stage_with);
    HOLDS(sizeof(netvm_packet) == sizeof(void *) + 8);
    HOLDS(offsetof(netvm_packet, data) == 0);
    HOLDS(offsetof(netvm_packet, len) == sizeof(void *));
    HOLDS(offsetof(netvm_packet, wire_len) == sizeof(void *) + 4);
    HOLDS(sizeof(((netvm_packet *)0)->len) == 4 && sizeof(((netvm_packet *)0)->wire_len) == 4);
    HOLDS(NETVM_OK == 0 && NETVM_ARGUMENT == -1 && NETVM_EXPRESSION == -2 && NETVM_ENGINE == -3 && NETVM_PANIC == -4);
    HOLDS(sizeof(netvm_coprocessor) == 3 * sizeof(void *) + 16 + 5 * sizeof(void *) || sizeof(void *) != 8);
    HOLDS(netvm_coprocessor_register(NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(sizeof(netvm_views) == 2 * sizeof(void *) + 2 * sizeof(size_t) && offsetof(netvm_views, packet_len) == sizeof(void *));
    HOLDS(offsetof(netvm_views, info) == sizeof(void *) + sizeof(size_t) && netvm_coprocessor_register_views(NULL, NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(sizeof(netvm_item) == sizeof(void *) + 24 && offsetof(netvm_item, time) == sizeof(void *) + 8);
    HOLDS(sizeof(netvm_stage) == 9 * sizeof(void *) + 16 && sizeof(netvm_counts) == 48);
    HOLDS(sizeof(netvm_reading) == 4 * sizeof(void *) && offsetof(netvm_reading, elements_count) == sizeof(void *));
    HOLDS(offsetof(netvm_reading, parameters) == 2 * sizeof(void *) && offsetof(netvm_reading, parameters_count) == 3 * sizeof(void *));
    HOLDS(sizeof(((netvm_reading *)0)->elements_count) == 4 && sizeof(((netvm_reading *)0)->parameters_count) == 4);
    HOLDS(NETVM_CONFIGURATION == -5 && NETVM_REFUSED == -6);
    HOLDS(NETVM_WORDS(0) == 0 && NETVM_WORDS(1) == 1 && NETVM_WORDS(64) == 1 && NETVM_WORDS(65) == 2);
    HOLDS(strcmp(netvm_version(), NETVM_VERSION) == 0);
    return 0;
}

static int wrong(void)
{
    netvm_filter *filter = (netvm_filter *)1;
    char *error = NULL;
    HOLDS(netvm_filter_compile("prot 80", 1, NULL, &filter, &error) == NETVM_EXPRESSION);
    HOLDS(filter == NULL && error != NULL && strstr(error, "unknown word `prot`"));
    netvm_string_free(error);
    HOLDS(netvm_filter_compile("tcp", 1, "gpu", &filter, &error) == NETVM_ARGUMENT);
    HOLDS(filter == NULL && error != NULL && strcmp(error, "error: no engine is called `gpu`; there are interp, jit, aot\n") == 0);
    netvm_string_free(error);
    HOLDS(netvm_filter_compile(NULL, 1, NULL, &filter, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_compile("\xff", 1, NULL, &filter, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_compile("tcp", 1, NULL, NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_compile("tcp", 65000, NULL, &filter, NULL) == NETVM_EXPRESSION);
    HOLDS(netvm_filter_another(NULL, &filter, &error) == NETVM_ARGUMENT && filter == NULL && error != NULL);
    netvm_string_free(error);
    HOLDS(netvm_filter_select(NULL, NULL, 0, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_matches(NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_detail(NULL) == NULL);
    netvm_filter_free(NULL);
    netvm_string_free(NULL);
    return 0;
}

static int application(void)
{
    static const uint8_t first[4] = {1, 2, 3, 4}, second[6] = {5, 6, 7, 8, 9, 10};
    netvm_packet packets[3] = {{first, 4, 0}, {second, 6, 100}, {first, 4, 0}};
    const uint64_t times[3] = {1000, 3000, 2000};
    uint64_t came[4] = {0, 0, 0, 0};
    netvm_packet sent[4];
    uint8_t room[16];
    netvm_application *it = (netvm_application *)1;
    char *text = NULL;
    HOLDS(netvm_application_open("FromDevice(in) -> Strip(2) -> Foo -> ToDevice(out);", NULL, &it, &text) == NETVM_CONFIGURATION);
    HOLDS(it == NULL && text != NULL && strstr(text, "there is no element class `Foo`"));
    netvm_string_free(text);
    HOLDS(netvm_application_open(NULL, NULL, &it, NULL) == NETVM_ARGUMENT && it == NULL);
    HOLDS(netvm_application_open("FromDevice(in) -> s :: Strip(2) -> c :: Counter -> ToDevice(out);", "interp", &it, &text) == NETVM_OK);
    HOLDS(it != NULL && text == NULL);
    HOLDS(netvm_application_push(it, "in", packets, times, 2) == 2);
    HOLDS(netvm_application_push(it, "in", packets + 2, times + 2, 1) == 1);
    HOLDS(netvm_application_take(it, "out", room, sizeof room, sent, came, 4) == 0);
    HOLDS(netvm_application_run(it, 0) == 0);
    /* As many as there is room for, the others later. */
    HOLDS(netvm_application_take(it, "out", room, 7, sent, came, 4) == 2);
    HOLDS(sent[0].len == 2 && sent[0].wire_len == 2 && memcmp(sent[0].data, first + 2, 2) == 0 && came[0] == 1000);
    HOLDS(sent[1].len == 4 && sent[1].wire_len == 98 && memcmp(sent[1].data, second + 2, 4) == 0 && came[1] == 3000);
    HOLDS(netvm_application_take(it, "out", room, sizeof room, sent, NULL, 4) == 1 && sent[0].len == 2);
    HOLDS(netvm_application_read(it, "c.count", NULL, &text) == NETVM_OK && strcmp(text, "3") == 0);
    netvm_string_free(text);
    HOLDS(netvm_application_write(it, "c.reset", NULL, &text) == NETVM_OK && text == NULL);
    HOLDS(netvm_application_read(it, "c.count", NULL, &text) == NETVM_OK && strcmp(text, "0") == 0);
    netvm_string_free(text);
    HOLDS(netvm_application_write(it, "c.nothing", "1", &text) == NETVM_REFUSED && strstr(text, "no handler named 'c.nothing'"));
    netvm_string_free(text);
    HOLDS(netvm_application_read(it, "c.nothing", NULL, NULL) == NETVM_REFUSED);
    HOLDS(netvm_application_push(it, "nowhere", packets, times, 1) == NETVM_REFUSED);
    HOLDS(netvm_application_push(it, NULL, packets, times, 1) == NETVM_ARGUMENT);
    HOLDS(netvm_application_push(it, "in", NULL, NULL, 1) == NETVM_ARGUMENT);
    HOLDS(netvm_application_take(it, "out", NULL, 5, sent, NULL, 4) == NETVM_ARGUMENT);
    HOLDS(netvm_application_run(NULL, 0) == NETVM_ARGUMENT && netvm_application_push(NULL, "in", packets, NULL, 1) == NETVM_ARGUMENT);
    netvm_application_free(it);
    netvm_application_free(NULL);
    return 0;
}

/* How many of two packets, of two bytes and of four, leave by out; frees the application. */
static int passing(netvm_application *it)
{
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    const netvm_packet packets[2] = {{bytes, 2, 0}, {bytes, 4, 0}};
    netvm_packet sent[2];
    uint8_t room[8];
    int taken = -1;
    if (netvm_application_push(it, "in", packets, NULL, 2) == 2 && netvm_application_run(it, 0) == 0)
        taken = netvm_application_take(it, "out", room, sizeof room, sent, NULL, 2);
    netvm_application_free(it);
    return taken;
}

/* A configuration with a class of elements that is not in the library, and a parameter. */
static const char configuration[] = "define($LENGTH 1); FromDevice(in) -> ShortOnly($LENGTH) -> ToDevice(out);";

static int with(const netvm_reading *reading, const char *says)
{
    netvm_application *it = (netvm_application *)1;
    char *text = NULL;
    int status = netvm_application_open_with(configuration, reading, "interp", &it, &text);
    HOLDS(status != NETVM_OK && it == NULL && text != NULL && strstr(text, says));
    netvm_string_free(text);
    HOLDS(netvm_application_open_with(configuration, reading, "interp", &it, NULL) == status && it == NULL);
    return status;
}

static int readings(const char *folder)
{
    static const char *const none[] = {NULL}, *const latin[] = {"\xff"}, *const nowhere[] = {"no/such/folder"};
    static const char *const no_value[] = {"LENGTH"}, *const no_name[] = {"=3"}, *const three[] = {"OTHER=a=b", "LENGTH=1", "LENGTH=3"};
    char elements[1024];
    const char *const folders[] = {elements};
    netvm_reading reading = {NULL, 0, NULL, 0};
    netvm_application *it = NULL;
    snprintf(elements, sizeof elements, "%s/elements", folder);
    HOLDS(netvm_application_open_with(NULL, NULL, NULL, &it, NULL) == NETVM_ARGUMENT && it == NULL);
    HOLDS(netvm_application_open_with(configuration, NULL, "gpu", &it, NULL) == NETVM_ARGUMENT);
    HOLDS(with(NULL, "there is no element class `ShortOnly`") == NETVM_CONFIGURATION);
    HOLDS(with(&reading, "there is no element class `ShortOnly`") == NETVM_CONFIGURATION);
    reading.elements_count = 1;
    HOLDS(with(&reading, "error: the array of folders is a null pointer\n") == NETVM_ARGUMENT);
    reading.elements = none;
    HOLDS(with(&reading, "error: a folder's path is a null pointer\n") == NETVM_ARGUMENT);
    reading.elements = latin;
    HOLDS(with(&reading, "error: a folder's path is not UTF-8\n") == NETVM_ARGUMENT);
    reading.elements = nowhere;
    HOLDS(with(&reading, "error: no/such/folder: there is no such folder of elements\n") == NETVM_ARGUMENT);
    reading.elements = folders, reading.parameters_count = 1;
    HOLDS(with(&reading, "error: the array of parameters is a null pointer\n") == NETVM_ARGUMENT);
    reading.parameters = none;
    HOLDS(with(&reading, "error: a parameter is a null pointer\n") == NETVM_ARGUMENT);
    reading.parameters = latin;
    HOLDS(with(&reading, "error: a parameter is not UTF-8\n") == NETVM_ARGUMENT);
    reading.parameters = no_value;
    HOLDS(with(&reading, "error: a parameter is NAME=VALUE, not `LENGTH`\n") == NETVM_ARGUMENT);
    reading.parameters = no_name;
    HOLDS(with(&reading, "error: a parameter is NAME=VALUE, not `=3`\n") == NETVM_ARGUMENT);
    reading.parameters_count = 0;
    HOLDS(netvm_application_open_with(configuration, &reading, "interp", &it, NULL) == NETVM_OK && passing(it) == 0);
    reading.parameters = three, reading.parameters_count = 3;
    HOLDS(netvm_application_open_with(configuration, &reading, "interp", &it, NULL) == NETVM_OK && passing(it) == 1);
    return 0;
}

static int files(const char *folder)
{
    static const char *const four[] = {"LENGTH=4"}, *const word[] = {"LENGTH=four"};
    char file[1024];
    netvm_reading reading = {NULL, 0, NULL, 1};
    netvm_application *it = (netvm_application *)1;
    char *text = NULL;
    HOLDS(netvm_application_open_file("no/such/file.click", NULL, NULL, &it, &text) == NETVM_CONFIGURATION && it == NULL);
    HOLDS(text != NULL && strstr(text, "error: no/such/file.click: No such file or directory"));
    netvm_string_free(text);
    HOLDS(netvm_application_open_file(folder, NULL, NULL, &it, &text) == NETVM_CONFIGURATION && strstr(text, "Is a directory"));
    netvm_string_free(text);
    HOLDS(netvm_application_open_file(NULL, NULL, NULL, &it, NULL) == NETVM_ARGUMENT && it == NULL);
    HOLDS(netvm_application_open_file("\xff", NULL, NULL, &it, NULL) == NETVM_ARGUMENT);
    snprintf(file, sizeof file, "%s/short.click", folder);
    HOLDS(netvm_application_open_file(file, NULL, "gpu", &it, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_application_open_file(file, &reading, NULL, &it, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_application_open_file(file, NULL, "interp", NULL, NULL) == NETVM_ARGUMENT);
    reading.parameters = word;
    HOLDS(netvm_application_open_file(file, &reading, "interp", &it, &text) == NETVM_CONFIGURATION && it == NULL && strstr(text, file));
    netvm_string_free(text);
    /* Its class is in the folder elements beside it. */
    HOLDS(netvm_application_open_file(file, NULL, "interp", &it, &text) == NETVM_OK && text == NULL && passing(it) == 1);
    reading.parameters = four;
    HOLDS(netvm_application_open_file(file, &reading, "interp", &it, NULL) == NETVM_OK && passing(it) == 2);
    return 0;
}

static int right(void)
{
    static const uint8_t arp[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 8, 6};
    netvm_packet packets[65] = {{NULL, 0, 0}};
    uint64_t words[2] = {~(uint64_t)0, ~(uint64_t)0};
    netvm_filter *filter = NULL, *other = NULL;
    char *error = (char *)1;
    char *detail;
    packets[0].data = packets[64].data = arp;
    packets[0].len = packets[64].len = sizeof arp;
    packets[64].wire_len = 1500;
    HOLDS(netvm_filter_compile("arp", 1, "jit", &filter, &error) == NETVM_OK && filter != NULL && error == NULL);
    HOLDS(netvm_filter_select(filter, packets, 65, words) == NETVM_OK && words[0] == 1 && words[1] == 1);
    HOLDS(netvm_filter_select(filter, NULL, 0, NULL) == NETVM_OK);
    HOLDS(netvm_filter_select(filter, NULL, 1, words) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_select(filter, packets, 1, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_select(filter, packets, SIZE_MAX, words) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_matches(filter, &packets[0]) == 1 && netvm_filter_matches(filter, &packets[1]) == 0);
    HOLDS(netvm_filter_matches(filter, NULL) == NETVM_ARGUMENT);
    packets[1].len = 1;
    HOLDS(netvm_filter_matches(filter, &packets[1]) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_select(filter, packets, 65, words) == NETVM_ARGUMENT);
    HOLDS(netvm_filter_another(filter, &other, &error) == NETVM_OK && other != NULL && error == NULL);
    detail = netvm_filter_detail(filter);
    HOLDS(detail != NULL && strcmp(detail, "jit") == 0);
    netvm_string_free(detail);
    netvm_filter_free(filter);
    HOLDS(netvm_filter_matches(other, &packets[64]) == 1);
    netvm_filter_free(other);
    HOLDS(netvm_filter_compile("greater 1000", 1, NULL, &filter, NULL) == NETVM_OK);
    HOLDS(netvm_filter_matches(filter, &packets[64]) == 1 && netvm_filter_matches(filter, &packets[0]) == 0);
    netvm_filter_free(filter);
    HOLDS(netvm_filter_compile("", 1, NULL, &filter, NULL) == NETVM_OK);
    HOLDS(netvm_filter_matches(filter, &packets[0]) == 1);
    netvm_filter_free(filter);
    return 0;
}

static void pass(void *unit, netvm_item *items, size_t count, netvm_outlets *out)
{
    int *sent = unit;
    netvm_item own = {items[0].data, items[0].len, 0, 7, 8};
    *sent += netvm_outlets_forward(out, 1, 0) == NETVM_REFUSED && netvm_outlets_forward_all(out, 1) == NETVM_REFUSED;
    *sent += netvm_outlets_forward(out, 0, 0) == NETVM_OK;
    items[0].len = 2;
    *sent += netvm_outlets_forward(out, 0, count) == NETVM_REFUSED;
    *sent += netvm_outlets_send(out, 0, NULL) == NETVM_ARGUMENT;
    own.data = NULL;
    *sent += netvm_outlets_send(out, 0, &own) == NETVM_ARGUMENT;
    *sent += netvm_outlets_stopping(out) == 0;
    *sent += netvm_outlets_forward_all(out, 0) == NETVM_OK && netvm_outlets_forward(out, 0, 0) == NETVM_REFUSED;
}

static volatile int goes_on = 1;

static int give(void *context, netvm_outlets *out)
{
    uint8_t bytes[4] = {1, 2, 3, 4};
    netvm_item item = {bytes, 4, 0, 5, 6};
    int *turns = context;
    if (*turns == 0 && netvm_outlets_forward(out, 0, 0) == NETVM_REFUSED && netvm_outlets_forward_all(out, 0) == NETVM_REFUSED
        && netvm_outlets_send(out, 0, &item) == NETVM_OK)
        ++*turns;
    return goes_on ? 0 : -1;
}

static uint64_t first_byte(void *context, const netvm_item *item)
{
    (void)context;
    return item->len > 0 ? item->data[0] : 0;
}

static int stages(const char *folder)
{
    static const char *const nowhere[] = {"x"}, *const to_b[] = {"b"}, *const to_c[] = {"c"}, *const none[] = {NULL};
    static const char *const three[] = {"LENGTH=3"};
    char elements[1024];
    const char *const folders[] = {elements};
    const netvm_reading reading = {folders, 1, three, 1}, wrong_reading = {none, 1, NULL, 0};
    netvm_pipeline *it = NULL;
    netvm_stage stage = {0};
    netvm_counts counts;
    int sent = 0, turns = 0;
    uint64_t pause = 0;
    char *text = NULL;
    HOLDS(netvm_pipeline_open(NULL, NULL) == NETVM_ARGUMENT && netvm_pipeline_open(&it, &text) == NETVM_OK && it != NULL);
    HOLDS(netvm_pipeline_stage(it, NULL, NULL) == NETVM_ARGUMENT && netvm_pipeline_stage(it, &stage, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_stop(it) == NETVM_REFUSED && netvm_pipeline_wait(it, NULL) == NETVM_REFUSED);
    stage.name = "b", stage.run = pass, stage.context = &sent, stage.to = nowhere, stage.to_count = 1;
    HOLDS(netvm_pipeline_stage(it, &stage, &text) == NETVM_ARGUMENT && strstr(text, "no stage of that name is registered"));
    netvm_string_free(text);
    stage.to = NULL;
    HOLDS(netvm_pipeline_stage(it, &stage, NULL) == NETVM_ARGUMENT);
    stage.to_count = 0, stage.run = NULL;
    HOLDS(netvm_pipeline_stage(it, &stage, NULL) == NETVM_ARGUMENT);
    stage.configuration = "FromDevice(b) -> n :: Counter -> Foo;";
    HOLDS(netvm_pipeline_stage(it, &stage, NULL) == NETVM_CONFIGURATION);
    stage.configuration = "FromDevice(b) -> n :: Counter -> Discard;", stage.engine = "no engine";
    HOLDS(netvm_pipeline_stage(it, &stage, NULL) == NETVM_ARGUMENT);
    stage.name = "c", stage.engine = "interp";
    stage.configuration = "define($LENGTH 1); FromDevice(b) -> n :: Counter -> ShortOnly($LENGTH) -> s :: Counter -> Discard;";
    snprintf(elements, sizeof elements, "%s/elements", folder);
    HOLDS(netvm_pipeline_stage_with(it, &stage, NULL, NULL) == NETVM_CONFIGURATION);
    HOLDS(netvm_pipeline_stage_with(it, &stage, &wrong_reading, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_stage_with(it, NULL, &reading, NULL) == NETVM_ARGUMENT && netvm_pipeline_stage_with(NULL, &stage, &reading, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_stage_with(it, &stage, &reading, &text) == NETVM_OK && text == NULL);
    stage.name = "b", stage.run = pass, stage.to = to_c, stage.to_count = 1;
    HOLDS(netvm_pipeline_stage_with(it, &stage, &reading, &text) == NETVM_ARGUMENT && strstr(text, "stage b is a function, which is not read"));
    netvm_string_free(text);
    HOLDS(netvm_pipeline_stage_with(it, &stage, NULL, NULL) == NETVM_OK);
    HOLDS(netvm_pipeline_input(it, "a", to_b, 1, NULL, NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_input(it, "a", none, 1, give, &turns, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_input(it, "a", to_b, 1, give, &turns, NULL) == NETVM_OK);
    HOLDS(netvm_pipeline_start(it, &text) == NETVM_OK && text == NULL && netvm_pipeline_start(it, NULL) == NETVM_REFUSED);
    for (int there = 0; !there; netvm_string_free(text)) {
        HOLDS(netvm_pipeline_read(it, "c", 0, "n.count", NULL, &text) == NETVM_OK);
        there = strcmp(text, "2") == 0;
    }
    /* The packet of four bytes did not pass. */
    HOLDS(netvm_pipeline_read(it, "c", 0, "s.count", NULL, &text) == NETVM_OK && strcmp(text, "1") == 0);
    netvm_string_free(text);
    HOLDS(netvm_pipeline_read(it, "c", 0, "n.nothing", NULL, NULL) == NETVM_REFUSED);
    HOLDS(netvm_pipeline_write(it, "c", 0, "n.reset", NULL, NULL) == NETVM_OK);
    HOLDS(netvm_pipeline_move(it, "c", 1, 0, NULL, NULL) == NETVM_REFUSED && netvm_pipeline_move(it, NULL, 0, 0, NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_replicas(it, "c", 2, NULL, NULL) == NETVM_REFUSED);
    HOLDS(netvm_pipeline_flow(it, "x", first_byte, NULL, NULL, &text) == NETVM_REFUSED && strstr(text, "there is no stage x"));
    netvm_string_free(text);
    HOLDS(netvm_pipeline_flow(it, NULL, first_byte, NULL, NULL, NULL) == NETVM_ARGUMENT && netvm_pipeline_flow(NULL, "c", first_byte, NULL, NULL, NULL) == NETVM_ARGUMENT);
    HOLDS(netvm_pipeline_flow(it, "c", first_byte, NULL, &pause, &text) == NETVM_OK && text == NULL && pause > 0);
    HOLDS(netvm_pipeline_flow(it, "c", NULL, NULL, NULL, NULL) == NETVM_OK);
    HOLDS(netvm_pipeline_has_ended(it) == 0);
    goes_on = 0;
    HOLDS(netvm_pipeline_wait(it, &text) == NETVM_OK && netvm_pipeline_has_ended(it) == NETVM_REFUSED);
    HOLDS(turns == 1 && sent == 7);
    HOLDS(netvm_pipeline_counts(it, "b", 0, &counts) == NETVM_OK && counts.packets == 1 && counts.core == -1 && counts.active == 1);
    HOLDS(netvm_pipeline_counts(it, "b", 1, &counts) == NETVM_REFUSED && netvm_pipeline_counts(it, "b", 0, NULL) == NETVM_ARGUMENT);
    netvm_pipeline_free(it);
    netvm_pipeline_free(NULL);
    HOLDS(netvm_outlets_send(NULL, 0, NULL) == NETVM_ARGUMENT && netvm_outlets_stopping(NULL) == NETVM_ARGUMENT);
    return 0;
}

int main(int argc, char **argv)
{
    int line = argc == 2 ? layout() : __LINE__;
    line = line ? line : wrong();
    line = line ? line : application();
    line = line ? line : readings(argv[1]);
    line = line ? line : files(argv[1]);
    line = line ? line : stages(argv[1]);
    line = line ? line : right();
    if (line)
        fprintf(stderr, "abi.c, line %d\n", line);
    return line != 0;
}
