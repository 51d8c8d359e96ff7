package org.causerie;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;
import kotlinx.coroutines.GlobalScope;
import org.junit.jupiter.api.Test;

/** The API as used by apps in Java. */
class JavaTest {
    private static final String SCRIPT =
            "{\"replies\": [[{\"control\": \"<|tool_call_start|>\"}, \"[get_weather(city='Oslo', days=3)]\","
                    + " {\"control\": \"<|tool_call_end|>\"}], [\"It is sunny.\"], [{\"fail\": \"no memory\"}]]}";

    @Test
    void aToolIsCalledAndAnswered() throws SdkException, InterruptedException {
        try (ModelRunner runner = Causerie.loadScriptedModel(SCRIPT);
                Conversation conversation = runner.createConversation("You are helpful.")) {
            SdkFunctionParameterType text = new SdkFunctionParameterType.SdkStr(null, null);
            SdkFunctionParameterType oneOrThree = new SdkFunctionParameterType.SdkInt(List.of(1L, 3L), null);
            SdkFunctionParameterType number = Causerie.sdkNum(List.of(1, 2.5), null);
            SdkFunctionParameterType nothing = SdkFunctionParameterType.SdkNull.INSTANCE;
            List<SdkFunctionParameter> parameters = List.of(
                    Causerie.sdkFunctionParameter("city", text, "The city.", false),
                    Causerie.sdkFunctionParameter("days", oneOrThree, "", true),
                    Causerie.sdkFunctionParameter("number", number, "", true),
                    Causerie.sdkFunctionParameter("nothing", nothing, "", true));
            conversation.registerFunction(new SdkFunction("get_weather", "The weather in a city.", parameters));

            GenerationOptionsBuilder options = new GenerationOptionsBuilder();
            options.setTemperature(0f);
            options.setMaxTokens(100);
            List<SdkFunctionCall> calls = new ArrayList<>();
            ChatMessage question = Causerie.chatMessage(ChatMessageRole.USER, "Weather?");
            try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, question, options.build())) {
                for (MessageResponse event : reply) {
                    if (event instanceof MessageResponse.FunctionCalls) {
                        calls.addAll(((MessageResponse.FunctionCalls) event).getFunctionCalls());
                    } else if (event instanceof MessageResponse.Complete) {
                        MessageResponse.Complete end = (MessageResponse.Complete) event;
                        assertEquals(FinishReason.TOOL_CALLS, end.getFinishReason());
                        assertTrue(0 < end.getStats().getPromptTokens());
                    }
                }
            }
            assertEquals(Map.of("city", "Oslo", "days", 3L), calls.get(0).getArguments());

            conversation.appendToHistory(Causerie.chatMessage(ChatMessageRole.TOOL, "{\"weather\": \"sunny\"}"));
            StringBuilder answer = new StringBuilder();
            try (BlockingReply reply = Causerie.continueResponseBlocking(conversation)) {
                for (MessageResponse event : reply) {
                    if (event instanceof MessageResponse.Chunk) {
                        answer.append(((MessageResponse.Chunk) event).getText());
                    }
                }
            }
            assertEquals("It is sunny.", answer.toString());
            List<ChatMessage> history = conversation.getHistory();
            assertEquals(history, Causerie.messagesFromJson(Causerie.messagesToJson(history)));
            assertEquals("It is sunny.", Causerie.getText(history.get(history.size() - 1)));

            SdkException.Generation err =
                    assertThrows(SdkException.Generation.class, () -> readAll(conversation));
            assertEquals("no memory", err.getReason());
        }
    }

    @Test
    void optionsAreChainedAndTimesAreDurations() throws SdkException {
        GenerationOptions options = new GenerationOptionsBuilder()
                .temperature(0f)
                .maxTokens(100)
                .functionCallParser(null)
                .timeout(Duration.ofSeconds(2))
                .build();
        assertEquals(2000L, options.getTimeoutMilliseconds());
        assertEquals(100, options.getMaxTokens());
        assertEquals(512, new LoadOptionsBuilder().contextSize(512).build().getContextSize());
        HubOptions hub = new HubOptionsBuilder().cache("models").idleTimeout(Duration.ofMillis(5)).build();
        assertEquals(5L, hub.getIdleTimeoutMilliseconds());
        assertEquals(Duration.ofMillis(1500), Causerie.duration(1.5));
        assertEquals("models", new HubOptions("models").getCache());
    }

    @Test
    void wholeRepliesAreReadInOneCall() throws Exception {
        SdkFunction weather = new SdkFunction(
                "get_weather",
                "The weather in a city.",
                List.of(
                        new SdkFunctionParameter("city", new SdkFunctionParameterType.SdkStr(), "The city."),
                        new SdkFunctionParameter("days", new SdkFunctionParameterType.SdkInt(), "Days.", true)));
        FunctionHandlers handlers = new FunctionHandlers();
        handlers.onBlocking(weather, call -> Map.of("city", call.getArguments().get("city")));
        try (ModelRunner runner = Causerie.loadScriptedModel(SCRIPT);
                Conversation conversation = runner.createConversation("You are helpful.", List.of(), handlers)) {
            MessageResponse.Complete reply = Causerie.respondBlocking(conversation, "Weather?");
            assertEquals("It is sunny.", Causerie.getText(reply.getFullMessage()));
            SdkException.Generation err =
                    assertThrows(SdkException.Generation.class, () -> Causerie.respondBlocking(conversation, "Hi"));
            assertEquals("no memory", err.getReason());
        }
        try (ModelRunner runner = Causerie.loadScriptedModel("{\"replies\": [[\"a\", \"b\"], [\"c\"]]}");
                Conversation conversation = runner.createConversation()) {
            StringBuffer seen = new StringBuffer();
            ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
            MessageResponse.Complete reply = Causerie.respondAsync(conversation, message, event -> {
                if (event instanceof MessageResponse.Chunk) {
                    seen.append(((MessageResponse.Chunk) event).getText());
                }
            }).get();
            assertEquals("ab", seen.toString());
            assertEquals("ab", Causerie.getText(reply.getFullMessage()));
            try (BlockingReply next = Causerie.generateResponseBlocking(conversation, "Go on")) {
                Causerie.forEachText(next, seen::append);
            }
            assertEquals("abc", seen.toString());
        }
    }

    @Test
    void aFutureThatIsCancelledStopsItsReply() throws Exception {
        String script = "{\"replies\": [[\"a\", {\"stall\": true}], [\"b\"]]}";
        try (ModelRunner runner = Causerie.loadScriptedModel(script);
                Conversation conversation = runner.createConversation()) {
            CountDownLatch begun = new CountDownLatch(1);
            ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
            CompletableFuture<MessageResponse.Complete> reply =
                    Causerie.respondAsync(conversation, message, event -> begun.countDown());
            begun.await();
            assertTrue(reply.cancel(false));
            GenerationOptions waiting = new GenerationOptionsBuilder().onBusy(OnBusy.QUEUE).build();
            assertEquals("b", Causerie.getText(Causerie.respondBlocking(conversation, "Hi", waiting).getFullMessage()));
        }
    }

    @Test
    void aFutureThatIsCompletedStopsItsReply() throws Exception {
        String script = "{\"replies\": [[\"a\", {\"stall\": true}], [\"b\"]]}";
        try (ModelRunner runner = Causerie.loadScriptedModel(script);
                Conversation conversation = runner.createConversation()) {
            CountDownLatch begun = new CountDownLatch(1);
            ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
            CompletableFuture<MessageResponse.Complete> reply =
                    Causerie.respondAsync(conversation, message, event -> begun.countDown());
            begun.await();
            assertTrue(reply.completeExceptionally(new TimeoutException()));
            assertEquals("b", Causerie.getText(Causerie.respondBlocking(conversation, "Hi").getFullMessage()));
        }
    }

    @Test
    void anErrorOfTheListenerEndsTheFuture() throws Exception {
        try (ModelRunner runner = Causerie.loadScriptedModel("{\"replies\": [[\"a\"]]}");
                Conversation conversation = runner.createConversation()) {
            ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
            CompletableFuture<MessageResponse.Complete> reply = Causerie.respondAsync(conversation, message, event -> {
                throw new AssertionError("no such view");
            });
            ExecutionException err = assertThrows(ExecutionException.class, reply::get);
            assertEquals("no such view", err.getCause().getMessage());
        }
    }

    private static void readAll(Conversation conversation) throws SdkException, InterruptedException {
        ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
        try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, message)) {
            reply.forEach(event -> {});
        }
    }

    @Test
    void aHandlerMayDoInputAndOutput() throws SdkException, InterruptedException {
        FunctionHandlers handlers = new FunctionHandlers();
        handlers.onBlocking("get_weather", call -> Files.readString(Path.of("no/such/forecast")));
        SdkFunctionParameterType text = new SdkFunctionParameterType.SdkStr(null, null);
        SdkFunctionParameterType integer = new SdkFunctionParameterType.SdkInt(null, null);
        List<SdkFunctionParameter> parameters = List.of(
                Causerie.sdkFunctionParameter("city", text, "", false),
                Causerie.sdkFunctionParameter("days", integer, "", true));
        List<String> results = new ArrayList<>();
        try (ModelRunner runner = Causerie.loadScriptedModel(SCRIPT);
                Conversation conversation = runner.createConversation()) {
            conversation.registerFunction(new SdkFunction("get_weather", "", parameters));
            ChatMessage question = Causerie.chatMessage(ChatMessageRole.USER, "Weather?");
            try (BlockingReply reply = Causerie.respondWithFunctionsBlocking(conversation, question, handlers)) {
                for (MessageResponse event : reply) {
                    if (event instanceof MessageResponse.FunctionResult) {
                        results.add(((MessageResponse.FunctionResult) event).getText());
                    }
                }
            }
        }
        assertEquals(1, results.size());
        assertTrue(results.get(0).contains("forecast"), results.get(0));
    }

    @Test
    void aModelIsUnloadedAlthoughItIsReferenced() throws SdkException, InterruptedException {
        try (ModelRunner runner = Causerie.loadScriptedModel(SCRIPT);
                Conversation conversation = runner.createConversation("")) {
            Causerie.unloadBlocking(runner);
            assertThrows(SdkException.ModelUnloaded.class, () -> readAll(conversation));
        }
    }

    @Test
    void theExceptionOfALoadingListenerIsRethrown() {
        String demo = System.getProperty("causerie.repository") + "/models/demo.gguf";
        IllegalStateException thrown = new IllegalStateException("no paper");
        LoadProgress progress = (fraction, phase) -> {
            throw thrown;
        };
        assertSame(
                thrown,
                assertThrows(
                        IllegalStateException.class,
                        () -> Causerie.loadModelBlocking(demo, new LoadOptions(), progress)));
    }

    @Test
    void statesAreDecidedAndTextsEmbedded() throws SdkException, InterruptedException {
        String repository = System.getProperty("causerie.repository");
        DecisionQuestion question = DecisionQuestion.Companion.predicate("Is the water hot?", null, null, "hot");
        try (ModelRunner runner = Causerie.loadModelBlocking(repository + "/models/demo.gguf")) {
            Decisions decisions = Causerie.decideBlocking(runner, "The kettle boils.", List.of(question));
            assertEquals("hot", decisions.getAnswers().get(0).getName());
        }
        String bert = repository + "/tests/fixtures/models/bert";
        try (EmbeddingModel model = Causerie.loadEmbeddingModelBlocking(bert)) {
            TextEmbeddings texts = Causerie.embedBlocking(model, List.of("bread", "bread"), new EmbedOptions());
            List<List<Float>> vectors = texts.getVectors();
            assertEquals(1, Causerie.cosineSimilarity(vectors.get(0), vectors.get(1)), 1e-6);
        }
    }

    @Test
    void aWrongRateIsAnErrorThatCanBeCaught() {
        try (SoundFileWriter writer = new SoundFileWriter(SoundFormat.PCM, 0)) {
            throw new AssertionError("it was made: " + writer);
        } catch (SdkException.UnsupportedContent err) {
            assertTrue(err.getMessage().contains("0"));
        } catch (SdkException err) {
            throw new AssertionError(err);
        }
    }

    private static final String WEATHER =
            "{\"replies\": [[{\"control\": \"<|tool_call_start|>\"}, \"[weather()]\","
                    + " {\"control\": \"<|tool_call_end|>\"}], [\"It is sunny.\"]]}";

    /** Loops over a reply without declaring exceptions. */
    private static String textOrError(Conversation conversation) {
        StringBuilder text = new StringBuilder();
        try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, "Hi")) {
            for (MessageResponse event : reply) {
                if (event instanceof MessageResponse.Chunk) {
                    text.append(((MessageResponse.Chunk) event).getText());
                }
            }
        } catch (SdkException err) {
            return err.getMessage();
        } catch (InterruptedException err) {
            throw new AssertionError(err);
        }
        return text.toString();
    }

    @Test
    void theErrorsOfAReplyCanBeCaught() throws SdkException {
        try (ModelRunner runner = Causerie.loadScriptedModel("{\"replies\": [[{\"fail\": \"no memory\"}], [\"a\"]]}");
                Conversation conversation = runner.createConversation()) {
            assertEquals("no memory", textOrError(conversation));
            assertEquals("a", textOrError(conversation));
        }
    }

    @Test
    void lastArgumentsCanBeLeftOut() throws Exception {
        List<ChatMessageContent> parts = List.of(
                new ChatMessageContent.Image(new byte[] {1}), new ChatMessageContent.Text("What is this?"));
        ChatMessage message = new ChatMessage(ChatMessageRole.USER, parts);
        assertEquals(message, Causerie.chatMessage(ChatMessageRole.USER, parts));
        assertEquals("f", new SdkFunctionCall("f", Map.of()).getName());
        assertEquals(TextUse.QUERY, new EmbedOptions(TextUse.QUERY).getTextUse());
        assertEquals(List.of(), new ChatState(List.of()).getMessages());
        DecisionQuestion.Companion questions = DecisionQuestion.Companion;
        List<DecisionLabel> labels = List.of(new DecisionLabel("cold"), new DecisionLabel("hot"));
        assertEquals(questions.predicate("Hot?", null, null, null), questions.predicate("Hot?"));
        assertEquals(questions.choice("Hot?", labels, null), questions.choice("Hot?", "cold", "hot"));
        assertEquals(questions.choice("Hot?", labels, null), questions.choice("Hot?", labels));
        assertEquals(questions.score("Hot?", labels, null), questions.score("Hot?", "cold", "hot"));
        assertEquals(questions.score("Hot?", labels, null), questions.score("Hot?", labels));

        SdkFunction weather = new SdkFunction("weather", "The weather.", List.of());
        FunctionHandlers handlers = new FunctionHandlers();
        handlers.setTimeout(Duration.ofSeconds(3));
        assertEquals(3.0, handlers.getTimeLimit());
        handlers.onBlocking(weather, call -> "sunny");
        try (ModelRunner runner = Causerie.loadScriptedModel(WEATHER);
                Conversation conversation = runner.createConversation("Be brief.", handlers)) {
            assertEquals("It is sunny.", Causerie.respondAsync(conversation, "Weather?").get().getText());
        }
        try (ModelRunner runner = Causerie.loadScriptedModel(WEATHER);
                Conversation conversation = runner.createConversation("Be brief.", List.of(weather))) {
            assertEquals(List.of(weather), conversation.getFunctions());
            StringBuilder text = new StringBuilder();
            try (BlockingReply reply = Causerie.respondWithFunctionsBlocking(conversation, "Weather?", handlers)) {
                Causerie.forEachText(reply, text::append);
            }
            assertEquals("It is sunny.", text.toString());
        }
        try (ModelRunner runner = Causerie.loadScriptedModel("{\"replies\": [[\"a\"]]}");
                Conversation conversation = runner.createConversation()) {
            conversation.appendToHistory(Causerie.chatMessage(ChatMessageRole.USER, "Hi"));
            StringBuffer seen = new StringBuffer();
            Causerie.respondAsync(conversation, event -> seen.append(event instanceof MessageResponse.Chunk)).get();
            assertTrue(seen.toString().startsWith("true"));
        }
    }

    @Test
    void aModelIsLoadedByItsNameOrPath() throws Exception {
        String demo = System.getProperty("causerie.repository") + "/models/demo.gguf";
        try (ModelRunner runner = Causerie.loadModelBlocking(demo, (fraction, phase) -> true)) {
            assertEquals(runner, runner.createConversation().getModelRunner());
        }
        HubOptions options = new HubOptionsBuilder()
                .cache(Files.createTempDirectory("causerie").toString())
                .offline(true)
                .build();
        try (Hub hub = new Hub(options, new UrlTransport())) {
            assertThrows(SdkException.class, () -> Causerie.loadModelBlocking("some/model", hub));
            assertThrows(SdkException.class, () -> Causerie.loadModelBlocking("some/model", hub, progress -> {}));
        }
    }

    @Test
    void aSessionIsObservedWithoutCoroutines() throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try (ModelRunner runner = Causerie.loadScriptedModel("{\"replies\": [[\"a\"], [\"b\"]]}");
                Conversation conversation = runner.createConversation()) {
            ChatSession session = new ChatSession(conversation, executor);
            CountDownLatch ended = new CountDownLatch(1);
            try (AutoCloseable listening = session.observe(state -> {
                if (state.getMessages().size() == 2 && !state.isResponding()) ended.countDown();
            })) {
                session.send("Hi");
                ended.await();
            }
            assertEquals("a", Causerie.getText(session.getState().getValue().getMessages().get(1)));
            ChatSession other = new ChatSession(runner.createConversation(), GlobalScope.INSTANCE);
            assertTrue(other.getState().getValue().getMessages().isEmpty());
        } finally {
            executor.shutdown();
        }
    }

    @Test
    void aReplyIsAValueOfASerializableClass() throws Exception {
        String offer = "{\\\"item\\\": \\\"tea\\\", \\\"price\\\": 2.5}";
        String script = "{\"replies\": [[\"" + offer + "\"], [\"" + offer + "\"], [\"" + offer + "\"], [\"no\"]]}";
        Offer tea = new Offer("tea", 2.5, true);
        try (ModelRunner runner = Causerie.loadScriptedModel(script);
                Conversation conversation = runner.createConversation()) {
            assertEquals(tea, Causerie.respondBlocking(conversation, "What?", Offer.class));
            ChatMessage message = Causerie.chatMessage(ChatMessageRole.USER, "What?");
            assertEquals(tea, Causerie.respondBlocking(conversation, message, Offer.class));
            conversation.appendToHistory(message);
            assertEquals(tea, Causerie.respondBlocking(conversation, Offer.class));
            assertThrows(
                    SdkException.InvalidArgument.class,
                    () -> Causerie.respondBlocking(conversation, "What?", Offer.class));
            assertThrows(
                    SdkException.InvalidFunction.class,
                    () -> Causerie.respondBlocking(conversation, "What?", Thread.class));
        }
    }

    @Test
    void aMissingModelIsAnErrorThatCanBeCaught() throws InterruptedException {
        try (ModelRunner runner = Causerie.loadModelBlocking("no/such.gguf", new LoadOptions(), (fraction, phase) -> true)) {
            throw new AssertionError("it was loaded: " + runner);
        } catch (SdkException.ModelNotFound err) {
            assertTrue(err.getMessage().contains("no/such.gguf"));
        } catch (SdkException err) {
            throw new AssertionError(err);
        }
    }
}
