// A
import Testing
